select array[1, 2, 3], array['a', null, 'c d'], '{1,2}'::int[], array[[1,2],[3,4]], '{}'::text[];
select (array[1,2,3])[2], (array[1,2,3])[5], (array[1,2,3,4])[2:3], array_length(array[1,2,3], 1), cardinality(array[1,2]), array_ndims(array[[1],[2]]), array_upper(array[1,2], 1);
select array[1,2] || 3, 0 || array[1], array[1] || array[2,3], array_append(array[1], 2), array_prepend(0, array[1]), array_cat(array[1], array[2]);
select array_position(array['a','b'], 'b'), array_remove(array[1,2,1], 1), array_replace(array[1,2,1], 1, 9), array[1,2,3] @> array[2], array[2] <@ array[1,2], array[1,2] && array[2,3];
select 2 = any (array[1,2]), 2 = all (array[2,2]), 5 > all (array[1,null]), 1 = any ('{}'::int[]), null = any (array[1]);
select unnest(array[1,2,3]);
select x, i from unnest(array['a','b']) with ordinality u(x, i);
select * from unnest(array[1,2], array['a','b','c']) u(n, s);
select n, unnest(array[n, n * 10]) from (values (1),(2)) t(n);
select generate_series(1, 3), generate_series(1, 2);
select * from generate_series(5, 1, -2);
select * from generate_series(1, 0);
select g, g * 2 from generate_series(1, 3) as g;
select array_agg(n_name order by n_name) from nation where n_regionkey = 1;
select array[1,2] = array[1,2], array[1,2] < array[1,3], array[1] = array[1,2];
select array_to_string(array[1,2,3], '-'), string_to_array('1-2-3', '-')::int[];
select array_agg(distinct n_regionkey order by n_regionkey desc) from nation;
select (array[[1,2],[3,4]])::text;
select (array[[1,2],[3,4]]::int2[])::int4[];
select array[row(1, 'a'), row(2, null)];
select array[row(1, 'a b'), null, row(2, null)];
select array_agg(row(n_nationkey, n_name) order by n_nationkey) from nation where n_regionkey = 0;
select array(select row(r_regionkey, r_name) from region order by 1); -- refused: spark
select array_length(array[row(1, 2), row(3, 4)], 1), (array[row(1, 2.5), row(3, 4.5)])[2];
select array[row(1, 2)] = array[row(1, 2)], array[row(1, 2)] < array[row(1, 3)];
select x from (values (array[row(2, 5)]), (array[row(1, 9), row(0, 1)]), (array[row(1, 9)])) v(x) order by x; -- ordered, refused: spark
select coalesce(null, row(1, 2)), coalesce(null, array[row(1, 2)]), case when true then array[row(1, 2)] end;
select array[row(1, 2), row(1, 'a')]; -- refused: local spark
select case when true then row(1, 2) else row(2, 'b') end; -- refused: local spark
select n, array[array[n, 2], array[3, n]], (array[array[n, 2], array[3, n]])[1][2], (array[array[n, 2], array[3, n]])[2:2][1:1] from (values (1), (5)) t(n);
select array_dims(x), array_ndims(x), array_length(x, 2), array_upper(x, 1), array_lower(x, 2), cardinality(x), x || array[[7, 8]], x || array[9, 9], x::text, x::text[], array_to_string(x, ','), 3 = any (x), 9 <> all (x), x @> array[2] from (values (array[[1, 2], [3, 4]]), ('{}'), (null)) t(x) where x <> '{}';
select x, count(*) from (values (array[[1, 2], [3, 4]]), (array[[1, 2], [3, 4]]), ('{}'), (null)) t(x) group by x;
select n, unnest(array[array[n, 2], array[3, n]]) from (values (1), (5)) t(n);
select array_agg(x order by n) from (values (1, array[1, 2]), (2, array[3, 4])) t(n, x);
select array_agg(x) from (values (1, array[1, 2]), (2, array[3])) t(n, x);
select array[x, x] from (values (array[1, 2]), (null)) t(x);
select array[x, array[1]] from (values (array[1, 2])) t(x);
select x from (values (array[[1, 2], [3, 4]]), (array[[1, 2, 3, 4]]), (array[[0, 9], [1, 1]]), ('{}'), (null)) t(x) order by x; -- ordered, refused: spark
select array[[1, 2], [3, 4]] = array[1, 2, 3, 4], array[[1, 2]] = array[[1, 2]], array[[1, 2]] <> array[[2, 1]], '{}'::int[] = array[[1]];

select length(lpad('x', 2147483647));
select lpad(g::text, 2147483647) from generate_series(1, 2) g;
select rpad(g::text, g), lpad(g::text, g * 2, 'ab'), lpad('abc', 2), lpad('abc', null), lpad('x', -1) from generate_series(1, 3) g;
select length(repeat('abc', 1000000000)), 1;
select length(repeat(g::text, 2000000000)) from generate_series(1, 2) g;
select repeat('ab', 3), repeat('ab', -1), repeat(null, 3), repeat('a', null), repeat('', 2147483647);
select array_fill(1, array[g]) from generate_series(1, 3) g;
select array_fill(1, '{2147483647}'::int[]);
select percentile_disc(0.5) within group (order by 'a'::text);
select corr(distinct x, y), regr_count(distinct x, y), covar_pop(distinct x, y) from (values (1.0::float8, 2.0::float8), (1, 2), (2, 5), (3, null)) t(x, y);
select string_agg(distinct x::text, ',' order by x::text), string_agg(x::text, ',' order by 'a') from (values (1), (1), (2)) t(x);
select -9223372036854775808, - -9223372036854775808, pg_typeof(-9223372036854775808), -9223372036854775807 - 1

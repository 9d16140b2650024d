select array['a:A'::tsquery] = array['a:B'::tsquery], '{a:A}'::tsquery[] = '{a:B}'::tsquery[], array['a:A'::tsquery] <> array['b'::tsquery];
select array['{[1.0,2]}'::nummultirange] = array['{[1,2]}'::nummultirange], array['[1.0,2]'::numrange, null] = array['[1,2]'::numrange, null], array['1.0'::jsonb] = array['1'::jsonb];
select array['{[1,2]}'::int4multirange] < array['{[1,10]}'::int4multirange, null], array['b'::tsvector] > array['a c'::tsvector], array['[2,3)'::int4range] < array['[10,11)'::int4range], array['2'::jsonb] < array['10'::jsonb];
select x = y, x < y from (values (array['a'::tsquery], array['a:A'::tsquery]), (null, array['b'::tsquery]), (array['c'::tsquery, 'd'], '{}')) v(x, y);
select array_to_string(array['a & (b & c)'::tsquery, null], ','), to_json('a & (b & c)'::tsquery), array['a & (b & c)'::tsquery]::text, format('%s', 'a & (b & c)'::tsquery);
select row_to_json(x) from (select 'a & (b & c)'::tsquery q, 'b a'::tsvector v, '{[1,2]}'::int4multirange m) x;
select row('a:A'::tsquery) = row('a:B'::tsquery), nullif('a:A'::tsquery, 'a:B'), case 'a:A'::tsquery when 'a:B' then 1 else 2 end, 'a:A'::tsquery is distinct from 'a:B'::tsquery, 'a:A'::tsquery in (select 'a:B'::tsquery);
select count(*) over (partition by q), rank() over (order by q) from (values ('a:A'::tsquery), ('a:B'), ('c')) v(q) order by 1, 2;
create table d (id int default 1, q tsquery default 'a & (b & c)', v tsvector default 'b a' check (v <> 'x'::tsvector), m int4multirange default '{[1,2]}' unique);
insert into d default values;
insert into d default values;
insert into d (m, v) values ('{}', 'x');
select * from d;
select array[1,2] < array[1,3], array[1,null] = array[1,null], array[[1,2],[3,4]] = array[[1,2],[3,4]]

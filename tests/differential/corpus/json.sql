select '{"a": {"b": [1, 2, "x"]}}'::json -> 'a' -> 'b' ->> 2, '{"a": 1}'::jsonb ->> 'a', '[1,2]'::json -> 1, '{"a":{"b":2}}'::jsonb #>> '{a,b}';
select '{"b": 1, "a": [1, 2], "b": 2}'::jsonb, '{"b": 1,  "a": 2}'::json;
select '{"a":1,"b":2}'::jsonb @> '{"a":1}', '{"a":1}'::jsonb ? 'a', json_array_length('[1,2,3]'), json_typeof('{"a":1}'), jsonb_typeof('null');
select json_build_object('a', 1, 'b', 'x'), jsonb_build_object('k', null), json_build_array(1, 'a', true);
select '{"a": tru}'::json;
select json_build_object('a"' || chr(7), E'x\n\t"\\\x01é', 'k', 'plain', 'd', date '2024-1-1');
select json_build_array(x) from (values (E'x\n\t"\\\x01\x1fé'), ('plain'), (null), (E'\x7f'), ('a"b')) v(x);
select to_json(date '2024-1-2'), to_json('abc'::varchar(2)), to_json('x'::char(3));
select x, case when x > 0 then ln(x::numeric) end from (values (1), (0), (-2)) v(x);
select ln(x::numeric) from (values (1), (0)) v(x);
select d ->> 'k' as k, count(*), sum((d ->> 'n')::int) from (values ('{"k": "a", "n": 1}'::jsonb), ('{"k": "b", "n": 2}'), ('{"k": "a", "n": 3}'), (null)) v(d) group by 1 having sum((d ->> 'n')::int) > 1 order by k; -- ordered
select a.r_regionkey, b.r_name from region a join region b on jsonb_build_object('k', a.r_regionkey) ->> 'k' = b.r_regionkey::text where a.r_regionkey < 3;
select a.r_regionkey, b.r_name from region a left join region b on jsonb_build_object('k', a.r_regionkey) ->> 'k' = b.r_regionkey::text; -- refused: spark
select r_regionkey, e from region, jsonb_array_elements(jsonb_build_array(r_regionkey, r_name)) e;
select r_regionkey, jsonb_object_keys(jsonb_build_object('a', r_regionkey, 'b', r_name)) from region;
select r_name from region order by power(r_regionkey::numeric, 2) desc, r_name; -- ordered
select count(*) filter (where (jsonb_build_object('k', r_regionkey) -> 'k')::int > 2), max(jsonb_build_object('k', r_regionkey) ->> 'k') from region;
select r_regionkey, row_number() over (partition by jsonb_build_object('k', r_regionkey % 2) ->> 'k' order by r_regionkey) from region;
select r_regionkey from region where exists (select 1 from nation where n_regionkey = r_regionkey and jsonb_build_object('n', n_name) ? 'n' and n_nationkey > 20);
select (x ->> 'a')::int from (values ('{"a": "1"}'::jsonb), ('{"a": "b"}')) v(x);
select host(a), masklen(a) from (values (inet '10.1.2.3/24'), (inet '::1')) v(a);

select '{"a": {"b": [1, 2, "x"]}}'::json -> 'a' -> 'b' ->> 2, '{"a": 1}'::jsonb ->> 'a', '[1,2]'::json -> 1, '{"a":{"b":2}}'::jsonb #>> '{a,b}'; -- refused: spark
select '{"b": 1, "a": [1, 2], "b": 2}'::jsonb, '{"b": 1,  "a": 2}'::json;
select '{"a":1,"b":2}'::jsonb @> '{"a":1}', '{"a":1}'::jsonb ? 'a', json_array_length('[1,2,3]'), json_typeof('{"a":1}'), jsonb_typeof('null'); -- refused: spark
select json_build_object('a', 1, 'b', 'x'), jsonb_build_object('k', null), json_build_array(1, 'a', true); -- refused: spark
select '{"a": tru}'::json;
select json_build_object('a"' || chr(7), E'x\n\t"\\\x01é', 'k', 'plain', 'd', date '2024-1-1');
select json_build_array(x) from (values (E'x\n\t"\\\x01\x1fé'), ('plain'), (null), (E'\x7f'), ('a"b')) v(x);
select to_json(date '2024-1-2'), to_json('abc'::varchar(2)), to_json('x'::char(3));

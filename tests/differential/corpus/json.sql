select '{"a": {"b": [1, 2, "x"]}}'::json -> 'a' -> 'b' ->> 2, '{"a": 1}'::jsonb ->> 'a', '[1,2]'::json -> 1, '{"a":{"b":2}}'::jsonb #>> '{a,b}'; -- refused: spark
select '{"b": 1, "a": [1, 2], "b": 2}'::jsonb, '{"b": 1,  "a": 2}'::json;
select '{"a":1,"b":2}'::jsonb @> '{"a":1}', '{"a":1}'::jsonb ? 'a', json_array_length('[1,2,3]'), json_typeof('{"a":1}'), jsonb_typeof('null'); -- refused: spark
select json_build_object('a', 1, 'b', 'x'), jsonb_build_object('k', null), json_build_array(1, 'a', true); -- refused: spark
select '{"a": tru}'::json;

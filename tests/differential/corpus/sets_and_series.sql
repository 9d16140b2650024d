-- Set-returning functions, and series whose steps are clipped by a month's end.
select * from generate_series(timestamp '2020-01-31', timestamp '2020-06-30', interval '1 month');
select * from generate_series(timestamp '2020-06-30', timestamp '2020-01-01', interval '-1 month');
select * from generate_series(timestamptz '2020-01-31 00:00+00', timestamptz '2020-03-31 00:00+00', interval '1 month 1 day');
select * from generate_series(timestamp '2020-01-01', timestamp '2020-01-02', interval '0');
select * from generate_series(1.5, 4.0, 0.5);
select * from generate_series(1, 3, 0);
select * from generate_series(1, null::int);
select * from generate_series(3000000000, 3000000004, 2);
select * from unnest(array[3, 1, null]) with ordinality as u(x, n);
select * from unnest(array[1, 2], array['a', 'b', 'c']) as u(x, y);
select unnest(array[1, 2]), generate_subscripts(array['a', 'b', 'c'], 1);
select * from string_to_table('a,b,,c', ',');
select * from regexp_split_to_table('the quick  fox', '\s+');
select * from regexp_matches('foobarbequebaz', 'ba.', 'g');
select * from regexp_matches('a=1,b=22', '(\w)=(\d+)', 'g');
select * from regexp_matches('abc', 'x');
select (regexp_matches(n_name, '^([A-Z])([A-Z]*)'))[2] from nation where n_nationkey < 5;
select x, s from (values ('a,b'), ('c')) v(x), string_to_table(x, ',') s;
select * from json_array_elements('[1, {"a" : 2}, null]'); -- refused: spark
select * from jsonb_array_elements_text('["a", 1, null]'); -- refused: spark
select * from jsonb_each('{"b": [1], "a": null}'); -- refused: spark
select key, value from json_each_text('{"b": [1, 2], "a": null}'); -- refused: spark
select * from jsonb_object_keys('{"bb": 1, "a": 2}'); -- refused: spark
select jsonb_array_elements('{}'); -- refused: spark
select n_name, e from nation, jsonb_array_elements_text('["x", "y"]') e where n_nationkey = 0; -- refused: spark
select value from json_array_elements('[1]') e; -- refused: spark
select e, e.value from jsonb_array_elements('[1, 2]') e; -- refused: spark
select x from jsonb_array_elements('[1, 2]') as e(x); -- refused: spark
select * from generate_series(null::timestamp, null, null::interval);
select * from generate_series(timestamptz '2020-01-01', null, null::interval);

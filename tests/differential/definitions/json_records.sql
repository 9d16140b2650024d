select * from json_to_recordset('[{"a":1,"b":"x"},{"a":2}, {"b": null}]') as x(a int, b text);
select a + 1, c from jsonb_to_record('{"a":1,"b":[1,2],"c":{"d": 1.50}, "e": null}') as x(a int, b jsonb, c json, e jsonb);
select * from json_to_record('{"a":1,"b":"2020-01-01", "c": {"x" : 1}, "A": 2.50}') as (a bigint, b date, c text, "A" numeric(5,1));
select * from jsonb_to_recordset('[{"a":1,"b":"xyz"},{"a":2}]') as x(a int, b varchar(2));
select * from jsonb_to_recordset('[{"a":1,"b":"xyz"},{"a":2}]') as x(a float8, b bool);
select * from json_to_recordset('{"a":1}') as x(a int);
select * from jsonb_to_recordset('{"a":1}') as x(a int);
select * from json_to_recordset('1') as x(a int);
select * from jsonb_to_recordset('[1]') as x(a int);
select * from json_to_recordset('[1]') as x(a int);
select * from json_to_record('[1]') as x(a int);
select * from jsonb_to_record('[1]') as x(a int);
select * from jsonb_to_record('1') as x(a int);
create table jt (id int, j jsonb);
insert into jt values (1, '[{"n":1},{"n":2}]'), (2, '[]'), (3, null), (4, '[{"n":"7"}]');
select id, n from jt, jsonb_to_recordset(j) as r(n int) order by 1, 2;
select id, n from jt left join lateral jsonb_to_recordset(j) as r(n int) on true order by 1, 2;
select sum(r.n) from jt, jsonb_to_recordset(jt.j) r(n int)

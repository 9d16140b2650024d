create table s (qty int, p numeric);
insert into s values (1, 2), (3, 4);
-- The type of an aggregate is known before its rows are read: it is an aggregation all the same.
select pg_typeof(sum(qty)) from s;
select pg_typeof(sum(qty)), pg_typeof(1) from s where false;
select pg_typeof(x) from (select sum(qty) x from s) q;
select pg_typeof(sum(qty)) from s having count(*) > 5;
select pg_typeof(sum(qty)) from s order by 1 limit 1;
-- INTERSECT and EXCEPT of values whose equals are stored differently.
create table n (j jsonb, k int, c bpchar, r numrange);
insert into n values ('{"a":1}', 1, 'a', '[1.0,2)'), ('{"a":1.0}', 1, 'a ', '[1,2.00)'), ('[1,2]', 2, 'b', null), (null, null, null, null),
  (null, null, null, null), ('{"a":1}', 2, 'b', 'empty');
create table m (j jsonb, k int, c bpchar, r numrange);
insert into m values ('{"a":1.00}', 1, 'a  ', '[1.000,2)'), ('"x"', 3, 'z', '(,)'), (null, null, null, null);
select k, j from n except select k, j from m order by 1, 2;
select (j->'a')::int, k from (select j, k from n except all select j, k from m) q order by 2, 1;
select count(*) from (select j from n intersect all select j from m) q;
select count(*) from (select j from n intersect select j from m) q;
select c from n except select c from m order by 1;
select length(c) from (select c from n intersect select c from m) q order by 1;
select r from n except select r from m order by 1;
select j from n except select j from m except select '[1, 2]' order by 1;
select j from m union select j from n except select j from m order by 1;
select exists (select j from n except select j from m where m.k = n.k) from n;
with w as (select j from n except select j from m) select * from w union all select * from w;
prepare p (jsonb) as select j from n except select $1 order by 1;
execute p ('{"a":1}');
-- SQL regular expressions.
create table texts (t text, p text, e text);
insert into texts values ('foobar', '%#"o_b#"%', '#'), ('abc"d"', 'a%', '\'), ('xyz', 'x!"y!"z', '!'), (null, 'a', 'b'),
  ('abcdefg', 'a#"%#"g', '#'), ('a', 'a', null);
select t, substring(t similar p escape e) from texts;
select substring(t from '%#"o_b#"%' for '#') from texts;
select substring(t similar '%#"[a-c]+#"%' escape '#') from texts;
select t similar to p escape e, similar_escape(p, e), similar_to_escape(p), similar_to_escape(p, e) from texts;
select substring(t, p, 'ab') from texts;
select substring('abc' similar 'a' escape 'ab');
select substring('abcdefg' similar 'a*#"%#"*g#"x' escape '#');
select substring('abcdefg' similar 'a*#"%#"g*' escape '#'), substring('abcdefg' similar null escape '#');
-- {1,1} prefers long matches and {1,1}? short ones, whatever is repeated.
select regexp_match(t, '^(.*){1,1}?(.*)$'), regexp_match(t, '^(.*?){1,1}(.*)$'), regexp_match(t, '(.+?){1,1}.*') from texts;
-- An unknown unit is an error of rows, and a unit may be computed.
create table moments (ts timestamp, tz timestamptz, iv interval, u text, d date, tm time);
select date_trunc('wrong', ts), date_trunc('wrong', tz), date_trunc('Wrong', iv), extract(wrong from ts), date_part('wrong', ts) from moments;
insert into moments values ('2024-05-06 07:08:09.123456', '2024-05-06 07:08:09.123456+00', '1 year 2 mons 3 days 04:05:06', 'month', '2024-01-01', '10:00'),
  (null, null, null, 'wrong', null, null), ('2024-11-03 05:30', '2024-11-03 05:30+00', '-1 mon', 'HOURS', '2024-02-29', '00:00');
select date_trunc('wrong', ts) from moments;
select date_trunc('Wrong', ts), extract(wrong from tm) from moments where ts is null;
select date_trunc(' day', ts) from moments;
select date_part('Wrong', d) from moments;
select date_trunc(u, ts), date_trunc(u, tz), date_trunc(u, tz, 'Europe/Berlin'), date_trunc(u, iv) from moments;
select date_trunc(w, ts), date_trunc(w, tz), date_trunc(w, iv)
  from (values ('microsecond'), ('Milliseconds'), ('second'), ('min'), ('h'), ('d'), ('mon'), ('qtr'), ('y'), ('dec'), ('c'), ('mil')) v (w), moments;
select date_trunc(w, ts) from (values ('timezone')) v (w), moments;
select date_trunc(w, ts) from (values ('xx')) v (w), moments;
-- COLLATE of types without a collation.
create table c (a int collate "C");
create table c (a text collate "C" collate "C");
create table c (a text collate "C" not null, v varchar(3) collate "C", n name collate "C", ch char(2) collate pg_catalog."default");
alter table c add column d int collate "C";
alter table c alter column a type int collate "C" using 1;
create domain dm as int collate "C";
create type ty as (a int collate "C");
-- Parameters where there are none.
select $65535::int;
select $70000;
select $1, $3::int from c;
prepare q as select $70000::int;
-- A generated null is printed with its type.
create table g (a int, b int generated always as (null) stored, c text generated always as (null) stored, d numeric(5,2) default null);
select pg_get_expr(adbin, adrelid) from pg_attrdef d join pg_class c on c.oid = adrelid where relname = 'g' order by adnum;
insert into g values (1);
-- An outer join on a subquery, of which a later join compares a column by <>.
create table a (x text);
create table b (d date, x text);
create table e (i int, v text);
insert into b values ('2024-01-01', 'a'), (null, 'b');
insert into e values (1, 'x'), (2, 'y');
select b.d from a right join b on exists (select i from e) join e on e.v is distinct from a.x order by 1;
select b.d from b left join (select 'x' as x) z on 1 in (select i from e) join e on e.v <> z.x order by 1;
select b.d, z.x from (select 'x' as x) z right join b on length(b.x) < (select max(i) from e) left join e on e.v <> z.x order by 1, 2;
-- An aggregation of which nobody reads the aggregates has one row.
with w as (select max(qty) as c from s order by 1) select min('x') over (order by 1) from w;
select 1 from (select count(*) from s order by 1) x;
select count(*) from (select sum(qty) t from s where false order by t) x;
select (select 1 from (select count(*) from s t where t.qty = s.qty order by 1) x) from s;
-- ORDER BY of a constant in a subquery sorts by nothing.
select 1 from (select qty, -1 as c from s order by 2 desc, 1) x;
select qty from (select qty, p, 5 as c from s order by c, p) x;
select qty from (select qty, 5 as c from s order by c limit 1) x where qty < 0;
select c, count(*) from (select 7 as c from s) x group by c order by c;
-- xmax tells whether ON CONFLICT DO UPDATE has inserted a row.
create table u (id serial primary key, k text unique, v int);
insert into u (k, v) values ('a', 1), ('b', 2) returning id, (xmax = 0) as inserted;
insert into u (k, v) values ('a', 10), ('c', 3) on conflict (k) do update set v = excluded.v returning id, k, v, (xmax = 0) as inserted;
insert into u (k, v) values ('a', 10), ('d', 3) on conflict (k) do nothing returning k, xmax = 0;
insert into u as t (k, v) values ('b', 1) on conflict (k) do update set v = 99 where t.v < 50 returning t.xmax = 0, *;
update u set v = v + 1 where k = 'a' returning xmax, tableoid::regclass::text, k;
with up as (insert into u (k, v) values ('a', 1), ('z', 2) on conflict (k) do update set v = 0 returning (xmax = 0) as ins)
  select count(*) filter (where ins), count(*) filter (where not ins) from up;
-- Texts and json as arrays.
create table tx (t text, v varchar(40), j jsonb, js json);
insert into tx values
  ('{1,2,3}', '{a,"b c",NULL}', '{"a":[1,"2",null],"s":["x","{y}",{"k":1},1.50],"n":null}', '{"a":[1, 2], "s":"{p,q}", "j":[1,"a",{"b": 2},null]}'),
  ('{}', '{}', '{"a":"{7,8}","s":[]}', '{"a":null}'), (null, null, null, null);
select t::int[], v::text[], v::varchar(1)[], t::bigint[], cast(t as int[])[2] from tx;
select sum(x) from tx, unnest(t::int[]) x;
select t from tx where 2 = any(t::int[]);
select v::int[] from tx;
select ('x' || t)::int[] from tx;
select x.* from tx, jsonb_to_record(j) as x (a int[], s text[], n date[]);
select x.* from tx, json_to_record(js) as x (a int[], s text[]);
select * from jsonb_to_record('{"b":5}') as x (b int[]);
select * from jsonb_to_record('{"b":["x"]}') as x (b int[]);
select * from jsonb_to_record('{"b":["xyz"]}') as x (b varchar(2)[]);
create type ct as (a int, b text[]);
select * from json_populate_recordset(null::ct, '[{"a":1,"b":["x","y"]},{"a":2,"b":null},{"b":"{q}"}]');
select * from json_to_recordset('[{"d":["2024-01-01"],"ts":["2024-01-01 10:00"],"b":[true,false]}]') as x (d date[], ts timestamp[], b bool[]);
prepare arr (text) as select $1::int[];
execute arr ('{4,5}');
-- Ranges of days and times as text.
create table rg (d daterange, t tsrange, z tstzrange);
insert into rg values ('[2024-01-01,2024-02-01)', '[2024-01-01 10:00,)', '[2024-01-01 00:00+00,2024-01-02 00:00+00]'), (null, 'empty', '(,)'),
  ('(,2024-01-01)', '(,"2024-01-01 00:00:00.5")', '[2024-07-01,2024-08-01)');
set timezone = 'America/New_York';
select d::text, t::text, z::text from rg;
select to_json(d), concat(d, '|', t, '|', z), array[d]::text, datemultirange(d)::text from rg;
select lower('["0044-03-15 10:00 BC",infinity)'::tstzrange), ('["0044-03-15 10:00 BC",infinity)'::tstzrange)::text from rg;
reset timezone;
-- A computed number of digits; constants that contain a null are not null.
select trunc(-400.0, d - d), round(99.9, d - date '2024-01-01') from b;
select i, round(1234.5678, i)::float8, trunc(-1234.5678, -i)::float8, round(p, i)::float8 from (values (1, 99.995), (2, -0.5), (-40, 3), (40, 1.5), (null, 2), (3, null)) v (i, p);
-- Windows in subqueries of windows' keys and of aggregates' arguments.
select qty, sum(qty) over (partition by qty in (select max(p) over (partition by i.qty) from s i)) from s order by 1;
select max(t.qty), bool_and(exists (select min(t.qty) over (partition by i.p) from s i)) from s t group by p order by 1;
-- An aggregate of constants whose FILTER reads an outer query.
select i, (select max(z.c) filter (where e.i > 1) from (select 5 as c from s) z), (select sum(z.c + e.i) from (select 5 as c from s) z) from e order by 1;
-- Only the cast of an inet to text has the mask of a single address.
create table ip (a inet, b cidr, n name);
insert into ip values ('::7', '10.0.0.0/8', 'x'), ('1.2.3.4', '1.2.3.4/32', null), ('1.2.3.4/24', '::1', 'y');
select a::text, array[a]::text, array[a]::text[], array[b]::text, row(a, b)::text, to_json(a), to_jsonb(b), json_build_object(a, b), jsonb_build_object(a, true) from ip;
select concat(a, b), a || 'x', format('%s %s', a, b), quote_literal(a), array_to_string(array[a], ','), array_to_json(array[a]), row_to_json(ip), ip::text from ip;
select array_agg(a)::text, array_agg(a)::text[], json_agg(a), json_object_agg(a, b), concat_ws(',', max(a), min(a)), array_to_string(array_agg(a), ';') from ip;
select array['1.2.3.4'::inet]::text, row('::1'::inet)::text, concat('1.2.3.4'::inet), to_json('1.2.3.4'::inet), '1.2.3.4'::inet || '';
select (a + 1)::text, array[a + 1]::text, array[broadcast(a)]::text, lower(a::text), a::char(5), json_build_object(true, a, n, 1) from ip where n is not null;
-- Objects (regclass, regtype) are shown as names, in RETURNING and in rows too.
create table o (id int, o int8);
insert into o values (1, 4), (2, null), (3, 1259), (4, 1259) returning o::regclass, row(id, o::regclass);
update o set o = 1247 where id = 1 returning id, o::regclass, array[o::regclass], 'int4'::regtype, pg_typeof(o);
delete from o where id = 1 returning o::regclass, o::regclass::text, null::regclass;
create table rc (r regclass, t regtype);
insert into rc values ('pg_class', 'int4'), (null, null) returning r, t, r::text, (r, t), tableoid::regclass;
update rc set t = 'text' where t is not null returning r, t, pg_typeof(r);
with x as (insert into rc values ('pg_type', 'date') returning r, t) select r, t, r::oid, t::text, row(r, x.t) from x;
select r, row(r, t), ((rc).r, 1), row(row(t), null::regtype), array[r, null] from rc order by rc.r;
select row('int4'::regtype), row('pg_class'::regclass, 1), row(null::regclass);
select x.id, y.p from o x left join (select row(r, 1) as p from rc where r = 'pg_class'::regclass) y on x.id = 3 order by 1;
select o::regclass::text, o::regclass::text || 'x', count(*) from o group by o::regclass order by 3, 1;
select o::regclass::text, count(*), grouping(o::regclass) from o group by rollup(o::regclass) order by 3, 2, 1;
select o::regclass, sum(id) over (partition by o::regclass::text) from o group by o::regclass, id having o::regclass::text <> 'x' order by o::regclass::text;
-- DISTINCT aggregates of a subquery with a constant array; frames whose offset is a subquery with a window.
select count(distinct o::regclass::text), max(o::regclass::text), count(o::regclass) from o;
select count(distinct (select array_position(array['4', '1259'], v.o::text))), count(distinct (select array_position(array['4', '1259'], v.o::text))), max(id) from o v;
select id, count(*) over (order by id rows between (select max(r) from (select row_number() over () r from o limit 2) q) preceding and current row) from o order by 1;
select id, sum(id) over (order by id rows between current row and (select rank() over (order by id desc) from o order by id limit 1) following) from o order by 1;
select id, count(*) over (order by id groups between (select count(*) over () from o limit 1) - 3 preceding and (select row_number() over () from o limit 1) following) from o order by 1;
select id, sum(id) over (order by id range between (select min(c) from (select count(*) over () c from o) q) preceding and current row), sum(id) over (order by id) from o order by 1;
select id, count(*) over (order by id rows between (select -row_number() over () from o limit 1) preceding and current row) from o order by 1;
-- Percentiles of computed fractions.
create table pf (id int, g text, v int, fr float8, x text, iv interval);
insert into pf values (1, 'a', 10, 0.5, 'p', '1 day'), (2, 'a', 20, 0.25, 'q', '2 hours'), (3, 'b', 30, 0.9, null, null), (4, 'b', 5, 0, 'r', '1 mon'), (5, 'b', null, null, 's', '0');
select percentile_cont(0.25 + 0.25) within group (order by v), percentile_cont(1 / 3.0) within group (order by v desc), percentile_disc(3 / 4.0) within group (order by x), percentile_disc(1 - 0.99) within group (order by x desc) from pf;
select fr, percentile_cont(fr) within group (order by v), percentile_disc(fr) within group (order by x), count(*) from pf group by fr order by 1;
select percentile_cont(fr) within group (order by v) from pf;
select g, percentile_cont(length(g) / 2.0) within group (order by v) filter (where id > 1), percentile_disc(length(g) / 4.0) within group (order by v) filter (where id > 100) from pf group by g order by g;
select fr * 1 as k, percentile_cont(fr * 1) within group (order by v) from pf group by fr * 1 order by 1;
select fr * 1 as k, percentile_disc(fr * 1 / 2) within group (order by v) from pf group by fr * 1 order by 1;
select f, (select percentile_cont(f) within group (order by v) from pf) from (values (0.1), (0.5)) x(f);
select f, (select percentile_disc(f) within group (order by v) from pf) from (values (0.1), (0.5), (1), (null)) x(f);
select f, (select percentile_disc(f) within group (order by v) from pf where id > 10) from (values (0.1), (0.5), (1), (null)) x(f);
select f, (select percentile_cont(f) within group (order by v) from pf where t.fr < f) from (values (0.1), (0.5), (1), (null)) x(f);
select percentile_cont((select 0.5)) within group (order by v), percentile_disc((select max(fr) from pf)) within group (order by v) from pf;
select percentile_cont((select max(fr) from pf)) within group (order by v) filter (where id < 4) from pf;
prepare pc (float8, int) as select percentile_cont($1) within group (order by v), percentile_disc($2::float8 / 100) within group (order by v), percentile_cont($2 / 100.0) within group (order by v) from pf;
execute pc (0.5, 90);
execute pc (0.1, 0);
execute pc (null, null);
execute pc (0.5, 150);
select percentile_cont(1 + 0.5) within group (order by v) from pf;
select f, (select percentile_cont(f) within group (order by v) from pf) from (values (0.1), (-1.5)) x(f);
select g from pf group by g having percentile_cont(0.25 + 0.25) within group (order by v) > 10 order by g;
select g, percentile_cont(0.5 + 0) within group (order by v) / 2 + 1, rank() over (order by percentile_disc(0.5 + 0) within group (order by v)) from pf group by g order by g;
select g, percentile_disc(0.5 + 0) within group (order by v), grouping(g) from pf group by rollup(g) order by 3, 1;
select percentile_cont(0.5 + 0.1) within group (order by v::numeric / 3), percentile_cont(0.5 + 0.1) within group (order by fr) from pf;
select percentile_disc(random()) within group (order by v) is not null from pf;
select id, x.p from pf a, lateral (select percentile_cont(a.fr) within group (order by b.v) p from pf b where b.g = a.g) x order by 1;
-- The condition of an outer join with a subquery is tested for the rows that WHERE leaves.
create table oj (id int, d date, s text, z int);
insert into oj values (1, '2024-02-01', 'x', 0), (4, '1999-12-31', '3', 2), (5, '2024-01-01', '7', 1);
create table ok (k int);
insert into ok values (1), (2);
select o.id, v.k from (select * from oj where id = 4) o left join (values (1)) v(k) on s::int > 5 or (select false);
select o.id, v.k from (select * from oj where id = 4) o left join (values (1)) v(k) on case when s::int > 5 then (select false) else z = 2 end;
select o.id, u.k from (select * from oj where z > 0) o left join ok u on 10 / z > 0 and u.k in (select z from oj) order by 1, 2;
select o.id, u.k from (select * from oj where s ~ '^\d+$') o left join ok u on s::int > 0 and exists (select 1 from oj where oj.z = u.k) order by 1, 2;
select o.id, u.k from ok u right join (select * from oj where z > 0) o on 10 / z > 5 and u.k = (select max(z) from oj) order by 1, 2;
select o.id, u.k, w.k from oj o join ok u on o.z = u.k left join ok w on 10 / o.z > 5 and w.k = (select max(z) from oj) where o.z > 0 order by 1, 2;
select o.id, u.k from oj o left join ok u on u.k = (select max(z) from oj) and 10 / o.z > 1 where o.z > 0 order by 1, 2;
select o.id, x.k from (select * from oj where z > 0) o left join lateral (select k from ok u where u.k = o.z) x on 10 / o.z > 5 and x.k in (select k from ok) order by 1;
-- A key cast to name, as text.
create table kn (c text);
insert into kn values ('b'), ('a'), ('b');
select c::name::text, count(*) from kn group by c::name order by c::name;
-- The token that is no json.
select '2024-01-01'::jsonb;
select '{"a":2024-01-01}'::json;
select '192.168.1.1'::json;
select '1.'::json;
select '1e-'::json;
select '[1-2]'::json;
select '1.5x'::json;
select '-abc'::json;
select '00.5'::json;
select '[1.5,2e3,-0,0.0,-1.5E+10,1E400]'::json, '[1.5,2e3,-0,0.0,-1.5E+10]'::jsonb;
-- Constants of BIT and CHAR without a length have any length, and a type's name may have modifiers.
select bit '101', bit(2) '101', pg_typeof(bit '101'), '101'::bit;
select char 'abc', character 'abc', char(2) 'abc', nchar 'abc', national character 'abc', 'abc'::char;
select length(char 'ab '), char 'ab' || 'c';
select timestamptz(0) '2024-01-01 10:00:00.6+00', varbit(2) '101', bpchar(2) 'abc', pg_catalog.numeric(3, 1) '1.26', timetz(0) '10:00:00.6+00';
select timestamptz(distinct 0) '2024-01-01';
-- What strtoull reads.
select '0x1f'::xid8, ' 7'::xid8, 'abc'::xid8, '1x'::xid8, '017'::xid8, '08'::xid8, ''::xid8, '-0'::xid8, '0x'::xid8;
select x::xid8 from (values ('abc'), ('12x'), (''), ('010'), (null)) v(x);
create table deleted (id int);
insert into deleted values (1), (2);
delete from deleted where id = 1 returning tableoid = 'deleted'::regclass, tableoid::regclass::text, id;
delete from deleted using (values (2)) v(i) where id = i returning deleted.tableoid::regclass::text, *;

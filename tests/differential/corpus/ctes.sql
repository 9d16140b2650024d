with a as (select 1 as x) select x + 1 from a;
with a(x) as (values (1),(2)), b as (select x * 10 as y from a) select * from a, b;
with a as (select n_regionkey as k, count(*) as n from nation group by 1) select a.k, b.n from a join a b on a.k = b.k;
with recursive t(n) as (values (1) union all select n + 1 from t where n < 10) select sum(n) from t;
with recursive t(n) as (select 1 union select (n * 3) % 7 from t) select n from t; -- refused: spark
with recursive f(a, b) as (select 0::bigint, 1::bigint union all select b, a + b from f where b < 1000) select a from f;
with recursive walk(id, parent, depth) as (
  select 1, null::int, 0 union all
  select c.id, c.parent, w.depth + 1 from (values (2,1),(3,1),(4,2),(5,4)) c(id,parent) join walk w on c.parent = w.id
) select id, depth from walk;
with x as materialized (select r_regionkey from region) select count(*) from x;
with x as (select 1 as a), y as (with x as (select 2 as a) select a from x) select x.a, y.a from x, y;
select * from (with q as (select 5 as v) select v from q) s;
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5)), s(f, t) as (
  select f, t from g union all select g.f, g.t from g, s where g.f = s.t
) search depth first by f, t set seq select f, t from s order by seq; -- ordered, refused: spark
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5)), s(f, t) as (
  select f, t from g union all select g.f, g.t from g, s where g.f = s.t
) search breadth first by f, t set seq select * from s order by seq; -- ordered, refused: spark
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5)), s(f, t) as (
  select f, t from g union all select g.f, g.t from g, s where g.f = s.t
) search breadth first by t set seq select f, t, seq from s;
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(4,5),(5,1)), s(f, t) as (
  select f, t from g union all select g.f, g.t from g join s on g.f = s.t
) cycle f, t set looped using path select * from s;
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(4,5),(5,1)), s(f, t) as (
  select f, t from g union select g.f, g.t from g join s on g.f = s.t
) cycle t set looped to 'Y' default 'N' using path select f, looped, path from s where looped = 'N'; -- refused: spark
with recursive s(a, b, c) as (
  select 1, date '2020-02-28', null::text union all select case when a < 4 then a + 1 else 1 end, b + 1, null from s
) search depth first by b, a set seq cycle a, c set looped to 'yes' default 'no' using path
select *, row_number() over (order by seq) from s order by seq desc; -- ordered, refused: spark
with recursive s(a) as (select 1 union all select s.a + z.g from s, generate_series(1, 2) z(g) where s.a < 4 and s.path is not null)
cycle a set looped using path select count(*), max(array_length(path, 1)), bool_or(looped) from s;
with recursive s(a) as (select 0::float8 union all select '-0'::float8 from s) cycle a set looped using path select looped from s;
with recursive s(a) as (select 1 union all select x.a + 1 from s as x(a) where x.a < 3) search depth first by a set seq select s from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) search depth first by b set seq select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) search depth first by a, a set seq select a from s;
with recursive s(a) as (select 1 union all select 2 from s where false) search depth first by a set a select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) cycle b set m using p select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) cycle a, a set m using p select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) cycle a set m using m select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) search depth first by a set m cycle a set m using p select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) search depth first by a set p cycle a set m using p select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) cycle a set m to 'a' default 1 using p select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) cycle a set m to -1 default 1 using p select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) cycle a set m to 1 default cast(2 as int) using p select a from s;
with recursive s(a) as (select 1 union all select a + 1 from s where a < 3) cycle a set m to 1 default 0.5 using p select * from s;
with recursive s(a) as (select 1) search depth first by a set seq select a from s;
with s(a) as (select 1) cycle a set m using p select a from s;
with recursive s(a) as (select 1 union all (select a + 1 from s union all select 5)) search depth first by a set seq select a from s;
-- recursive UNION of values whose equals may be stored differently
with recursive x as (select '1'::jsonb as j union select to_jsonb((j#>>'{}')::int % 5 + 1) from x) select * from x order by j; -- refused: spark
with recursive x(n, j) as (select 1, '{"a": [1, {"b": "2.5"}, null, true]}'::jsonb union select 2, v from x, lateral (select jsonb_path_query(j, '$.*') union all select jsonb_path_query(j, '$[*]')) e(v) where jsonb_typeof(j) in ('object', 'array')) select distinct n, j from x order by n, j; -- refused: spark
with recursive x(r) as (select '[1.5,2)'::numrange union select numrange(lower(r), upper(r) + 1) from x where upper(r) < 4) select * from x order by r; -- refused: spark
with recursive x(c) as (select 'a'::bpchar union select (rtrim(c) || 'b')::bpchar from x where length(c) < 3) select * from x order by c; -- refused: spark
with recursive w(n) as (select '{"k": 1}'::jsonb union all select '{"k": 1}'), x(j) as (select n from w union select jsonb_set(j, '{k}', to_jsonb((j->>'k')::int % 3 + 1)) from x) select * from x order by j; -- refused: spark
with recursive x as (select '1.0'::jsonb as j union select '1' from x) select * from x order by j; -- refused: local spark
with recursive x as (select 'a '::bpchar as j union select 'a'::bpchar from x) select * from x order by j; -- refused: local spark
with recursive x as (select array['1'::jsonb] as j union select j from x) select * from x; -- refused: local spark

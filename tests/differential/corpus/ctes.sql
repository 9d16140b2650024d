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

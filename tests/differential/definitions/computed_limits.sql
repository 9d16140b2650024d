create table g (a int, b int, x float8);
insert into g select i % 3, i, i * 1.5 from generate_series(1, 20) i;
prepare p1 as select * from (select distinct a from g) o left join lateral (select b from g where g.a = o.a order by b desc limit $1::int + 1) t on true order by 1, 2;
execute p1(1);
execute p1(-2);
execute p1(null);
select * from (select distinct a from g) o, lateral (select b from g where g.a = o.a order by b desc limit o.a + 1) t order by 1, 2;
select * from (select distinct a from g) o, lateral (select b from g where g.a = o.a order by b desc limit (select 1)) t order by 1, 2;
select * from (select distinct a from g) o, lateral (select b from g where g.a = o.a order by b desc offset (select 1) limit (select 1)) t order by 1, 2;
select * from (select distinct a from g) o, lateral (select b from g where g.a = o.a order by b desc offset (select 1) fetch first (o.a + 1) rows with ties) t order by 1, 2;
select a, (select b from g where g.a = o.a order by b offset o.a limit 1) from (select distinct a from g) o order by 1;
select a, array(select b from g where g.a = o.a order by b offset o.a limit (select 2)) from (select distinct a from g) o order by 1;
select a from (select distinct a from g) o where 5 in (select b from g where g.a = o.a order by b limit o.a) order by 1;
select b from g order by b limit (select 3) offset (select 1);
select count(*) from (select b from g order by b limit (select null::int)) s

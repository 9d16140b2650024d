create table a (id int primary key, v int);
create table b (id int, w int);
insert into a select i, i % 3 from generate_series(1, 9) i;
insert into b select i % 5, i from generate_series(1, 20) i;
select (select max(w) from b where b.id = a.v), count(*) from a group by (select max(w) from b where b.id = a.v) order by 1;
select (select max(w) from b where b.id = a.v) + 1, count(*) from a group by (select max(w) from b where b.id = a.v) order by 1;
select (select max(w) from b where b.id = a.v) m, count(*) from a group by 1 having (select max(w) from b where b.id = a.v) > 17;
select grouping((select max(w) from b where b.id = a.v)), count(*) from a group by rollup((select max(w) from b where b.id = a.v)) order by 1, 2;
select distinct (select max(w) from b where b.id = a.v) from a order by (select max(w) from b where b.id = a.v);
select (select max(w) from b where b.id = a.v), count(*) from a group by (select min(w) from b where b.id = a.v);
select (select max(w) from b where b.id = a.v), count(*) from a group by (select max(w) from b where b.id = a.id);
select (with q as (select max(w) w from b where b.id = a.v) select w from q), count(*) from a group by (with q as (select max(w) w from b where b.id = a.v) select w from q) order by 1;
select exists (select from b where b.id = a.v), count(*) from a group by exists (select from b where b.id = a.v) order by 1;
select a.v in (select id from b), count(*) from a group by a.v in (select id from b) having a.v in (select id from b)

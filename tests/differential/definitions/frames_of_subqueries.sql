create table g (a int, b int, x float8);
insert into g select i % 3, i, i * 1.5 from generate_series(1, 20) i;
select b, sum(b) over (order by b rows between (select 1) preceding and (select 2) following) from g order by b;
select b, sum(b) over (order by b rows between (select max(a) from g) preceding and current row) from g order by b;
select b, sum(b) over (order by b range between (select 1) preceding and current row) from g order by b;
select b, sum(b) over (order by b range between (select -1) preceding and current row) from g order by b;
select b, sum(b) over (order by x range between (select 1.5::float8) preceding and current row) from g order by b;
select b, sum(b) over (order by b groups between (select 2) preceding and current row) from g order by b;
select b, sum(b) over (order by b rows between (select -1) preceding and current row) from g order by b;
select b, sum(b) over (order by b rows between (select null::int) preceding and current row) from g order by b;
select b, sum(b) over (order by b rows between current row and (select -1) following) from g order by b;
select b, sum(b) over (order by b rows between a preceding and current row) from g order by b;
select a, (select sum(s) from (select sum(b) over (order by b rows between o.a preceding and current row) s from g) q) from (select distinct a from g) o order by 1;
create view framed as select b, sum(b) over (order by b rows between (select max(a) from g) preceding and current row) from g;
select * from framed order by b;
create table bounds (n int);
create view bounded as select b, sum(b) over (order by b rows between (select max(n) from bounds) preceding and current row) from g;
drop table bounds

create table b (id int, w int);
insert into b select i % 5, i from generate_series(1, 20) i;
with recursive r(n) as (select 1 union all (with x as (select n + 1 as m from r where n < 5) select m from x)) select * from r order by n;
with recursive r(n) as (select 1 union all select m from (with x as (select n + 1 as m from r where n < 5) select m from x) y) select * from r order by n;
with recursive r(n) as (select 1 union all (with x as (select max(w) m from b) select n + 1 from r, x where n < least(m, 5))) select * from r order by n;
with recursive r(n) as (select 1 union (with x as (select n + 1 as m from r where n < 5) select m from x)) select * from r order by n;
with recursive r(n) as (select 1 union all (with x as (select n + 1 as m from r where n < 5) select m from x union all select m from x)) select count(*) from r;
with recursive r(n) as (select 1 union all (with recursive x(m) as (select n + 1 from r where n < 3 union all select m + 1 from x where m < 4) select m from x)) select * from r order by n;
with recursive r(n) as (with z as (select 1 as o), y as (select 4 as m) select o from z, y union all select n + 1 from r, y where n < m) select * from r order by n;
with recursive r(n) as (with z as (select n from r) select 1 union all select n + 1 from r) select * from r;
with recursive r(n) as (select 1 union all select n + 1 from r where n < 3 and exists (with x as (select n from r) select 1 from x)) select * from r;
with recursive r(n) as (select 1 union all (with x as (select count(*) as m from r where n < 5) select m from x)) select * from r

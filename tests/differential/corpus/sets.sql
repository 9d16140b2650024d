select n_regionkey from nation union select r_regionkey + 3 from region;
select n_regionkey from nation where n_nationkey < 6 union all select r_regionkey from region;
select n_regionkey from nation intersect select r_regionkey from region where r_regionkey > 1;
select x from (values (1),(1),(2),(3)) a(x) intersect all select y from (values (1),(1),(1),(3)) b(y);
select x from (values (1),(1),(2),(3)) a(x) except all select y from (values (1),(3)) b(y);
select x from (values (1),(1),(2),(null)) a(x) except select y from (values (2)) b(y);
select 1 as a union all select 2.5 union all select null order by a; -- ordered
select 'a' as x, 1 as y union all select null, 2;
select 1 union select 2 intersect select 2;
(select 1 as v union all select 2) except (select 2) order by 1; -- ordered
(select n_name from nation order by n_name limit 2) union all (select r_name from region order by r_name desc limit 2);
select null union select 1;
select date '2020-01-01' union select timestamp '2020-01-02 03:04:05';
values (1, 'a'), (2, 'b') order by 1 desc; -- ordered
select distinct n_regionkey from nation;
select distinct on (n_regionkey) n_regionkey, n_name from nation order by n_regionkey, n_name desc; -- ordered
select distinct on (a) a, b from (values (1,2),(1,1),(2,null),(2,5)) t(a,b) order by a, b nulls first; -- ordered
select * from (select distinct on (n_regionkey) 1 as one from nation) s;
select count(*) from (select distinct on (n_regionkey) 1 from nation limit 3) s;
with w as (select distinct on (n_regionkey) 1 as one from nation) select count(*), sum(one) from w;
select array(select distinct on (n_regionkey) 7 from nation), 1 in (select distinct on (n_regionkey) 2 from nation);
select count(*) from (select 1 from nation order by n_name limit 3) s;

select n_name from nation where n_regionkey in (select r_regionkey from region where r_name like 'A%');
select n_name from nation where n_regionkey not in (select r_regionkey from region where r_name like 'A%');
select 1 where 1 not in (select null::int);
select 1 where 3 in (values (1),(null),(3));
select x, x in (values (1),(null)) from (values (1),(2),(null)) t(x);
select n_name from nation n where exists (select 1 from supplier where s_nationkey = n.n_nationkey and s_acctbal < 0);
select n_name from nation n where not exists (select 1 from customer where c_nationkey = n.n_nationkey and c_acctbal > 9900);
select n_name, (select max(c_acctbal) from customer where c_nationkey = n_nationkey) from nation;
select n_name, (select count(*) from customer where c_nationkey = n_nationkey and c_acctbal > 9000) from nation;
select (select r_name from region where r_regionkey = 1);
select (select r_name from region where r_regionkey = 100);
select (select r_name from region);
select c_custkey from customer c where c_acctbal > (select 1.9 * avg(c_acctbal) from customer where c_nationkey = c.c_nationkey);
select n_name from nation where n_nationkey = any (select s_nationkey from supplier where s_suppkey < 5);
select n_name from nation where n_nationkey > all (select s_nationkey from supplier where s_suppkey < 5);
select n_name from nation where n_nationkey < some (select s_nationkey from supplier where s_suppkey < 5);
select x from (values (1),(2),(3)) t(x) where (x, x + 1) in (select a, b from (values (1,2),(3,3)) u(a,b));
select array(select n_nationkey from nation where n_nationkey < 4 order by 1 desc); -- refused: spark
select o_orderstatus, (select count(*) from lineitem where l_orderkey = o_orderkey) from orders where o_orderkey < 10;
select (select sum(x) from (select n_nationkey as x from nation where n_regionkey = r_regionkey) s) from region;
select r_name from region where (select count(*) from nation where n_regionkey = r_regionkey) = 5;
select coalesce((select 1 where false), 7);
select case when exists (select 1 from region where r_regionkey = 3) then 'yes' else 'no' end;
select n_name from nation where n_regionkey = (select r_regionkey from region where r_name = 'ASIA') order by n_name; -- ordered
select from nation where n_nationkey < 3; -- refused: spark
select count(*) from (select from nation) x;

select n_name from nation order by n_name; -- ordered
select n_name, n_regionkey from nation order by 2 desc, 1; -- ordered
select x from (values (2),(null),(1)) t(x) order by x; -- ordered
select x from (values (2),(null),(1)) t(x) order by x desc; -- ordered
select x from (values (2),(null),(1)) t(x) order by x nulls first; -- ordered
select x from (values (2),(null),(1)) t(x) order by x desc nulls last; -- ordered
select n_name as z from nation order by length(n_name), z limit 5; -- ordered
select n_name from nation order by n_regionkey, n_nationkey limit 5 offset 3; -- ordered
select n_name from nation order by n_nationkey offset 20 rows; -- ordered
select n_name from nation order by n_nationkey fetch first 3 rows only; -- ordered
select x from (values (1),(2),(2),(3)) t(x) order by x fetch first 2 rows with ties; -- ordered
select n_name from nation order by n_nationkey limit 0;
select n_name from nation order by n_nationkey limit null offset 22; -- ordered
select x from (values ('b'),('A'),('a'),('Z'),('é'),('')) t(x) order by x; -- ordered
select x from (values (1.5),('NaN'::float8),(-1),('Infinity')) t(x) order by x; -- ordered
select n_name from nation order by n_nationkey limit -1;
select n_name from nation order by nope; -- no plan
select n_name from nation order by 7; -- no plan
select distinct n_regionkey from nation order by n_name; -- no plan
select o_orderkey, o_totalprice from orders order by o_totalprice desc, o_orderkey limit 10; -- ordered
select x, y from (values (true, 'a'),(false,'b'),(null,'c')) t(x,y) order by x, y; -- ordered

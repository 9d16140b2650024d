select n_name, row_number() over (order by n_name) from nation;
select n_name, rank() over (partition by n_regionkey order by length(n_name)), dense_rank() over (partition by n_regionkey order by length(n_name)) from nation;
select x, percent_rank() over (order by x), cume_dist() over (order by x), ntile(3) over (order by x) from (values (1),(2),(2),(3),(9)) t(x);
select x, lag(x) over (order by x), lead(x, 2, -1) over (order by x) from (values (1),(2),(4),(8)) t(x);
select x, first_value(x) over w, last_value(x) over w, nth_value(x, 2) over w from (values (1),(2),(4)) t(x) window w as (order by x);
select x, sum(x) over (order by x rows between 1 preceding and 1 following) from (values (1),(2),(4),(8)) t(x);
select x, sum(x) over (order by x range between 2 preceding and current row) from (values (1),(2),(4),(5)) t(x);
select x, count(*) over (order by x range unbounded preceding) from (values (1),(1),(2)) t(x);
select x, sum(x) over (order by x groups between 1 preceding and current row) from (values (1),(1),(2),(3)) t(x); -- refused: spark
select x, sum(x) over (order by x rows between unbounded preceding and unbounded following exclude current row) from (values (1),(2),(4)) t(x); -- refused: spark
select n_regionkey, count(*), sum(count(*)) over (order by n_regionkey) from nation group by n_regionkey;
select avg(n_nationkey) over (partition by n_regionkey) from nation;
select x, sum(x) filter (where x > 1) over (order by x) from (values (1),(2),(3)) t(x);
select o_orderdate, o_totalprice - lag(o_totalprice) over (partition by o_custkey order by o_orderdate, o_orderkey) from orders where o_custkey < 20;
select n_name from (select n_name, row_number() over (partition by n_regionkey order by n_name) r from nation) t where r = 1;
select x, rank() over (order by x desc nulls last) from (values (1),(null),(3)) t(x);
select row_number() over () from nation where row_number() over () < 3; -- no plan
with v (i, iv) as (values (1, interval '30 days'), (2, '1 mon 1 us'), (3, '1 day 03:00'), (4, null)) select max(iv) over (order by i) as m, min(iv) over (order by i desc) from v order by 1 desc, 2, m;
select n_nationkey, row_number() over (order by n_name) as n from nation order by row_number() over (order by n_name) % 3, n limit 5;
select x, lag(x, -1) over (order by x), lead(x, -1) over (order by x), lag(x, 0) over (order by x), lag(x, -2, 9) over (order by x) from (values (1),(2),(4),(8)) t(x);
select x, lead(x, null) over (order by x), lag(x, null, 7) over (order by x) from (values (1),(2),(4),(8)) t(x);
select x, sum(x) over (order by x rows between (select 1) preceding and (select 2) following) from (values (1),(2),(4),(8)) t(x); -- refused: spark
select n_name, count(*) over (order by n_nationkey rows between (select max(r_regionkey) from region) preceding and current row) from nation; -- refused: spark
-- ntile of a column: PostgreSQL takes the value of the first row
select g, x, ntile(g + 1) over (partition by g order by x), ntile(x + g) over (partition by g order by x), ntile(12 - x) over (partition by g order by x), ntile(2 - x * 2) over (partition by g order by x), ntile(nullif(g, g)) over (partition by g order by x) from generate_series(0, 10) x, generate_series(1, 5) g order by g, x;
select ntile(x) over (order by x) from generate_series(0, 3) x;
select ntile(2 - x) over (order by x desc) from generate_series(1, 3) x;
select n_regionkey, ntile(count(*)::int - 2) over (order by n_regionkey) from nation group by n_regionkey order by 1;
select ntile(nullif(x, 1)) over (order by x) from generate_series(1, 3) x; -- refused: local spark

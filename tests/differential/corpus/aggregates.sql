select count(*), count(x), sum(x), avg(x), min(x), max(x)
from (values (1::int2),(2),(null)) t(x);

select sum(x), avg(x), min(x), max(x)
from (values (1),(2),(2147483647)) t(x);

select sum(x), avg(x)
from (values (1),(1),(1)) t(x);

select sum(x), avg(x)
from (values (1.10::numeric(15,2)),(2.25),(null),(7)) t(x);

select sum(x), avg(x), count(x), count(*)
from (values (1),(2)) t(x) where x>5;

select sum(x), avg(x), min(x), max(x)
from (values (1.5::float4),(2.25),('nan')) t(x);

select sum(x), avg(x), min(x), max(x)
from (values (1.5::float8),(2.25),(-7)) t(x);

select min(x), max(x)
from (values (1.5::float8),('nan'),('infinity'),(null)) t(x);

select min(x), max(x)
from (values ('a'),('B'),('é'),(null)) t(x);

select min(x), max(x)
from (values (interval '1 mon'),('29 days'),('31 days'),(null)) t(x);

select sum(x), avg(x)
from (values (interval '1 mon 5 days'),('29 days 3 hours'),('31 days'),(null)) t(x);

select min(x), max(x)
from (values (time with time zone '10:00+02'),('09:00+00'),('08:30+00'),(null)) t(x);

select min(x), max(x)
from (values (date '2020-01-01'),('1999-01-01'),(null)) t(x);

select bool_and(x), bool_or(x), every(x)
from (values (true),(false),(null)) t(x);

select bool_and(x), bool_or(x)
from (values (null::bool)) t(x);

select bit_and(x), bit_or(x), bit_xor(x)
from (values (6),(3),(null)) t(x);

select array_agg(x), array_agg(x order by x desc), array_agg(distinct x)
from (values (6),(3),(null),(6)) t(x);

select array_agg(x)
from (values (6)) t(x) where false;

select string_agg(x, ','), string_agg(x, ',' order by x desc)
from (values ('b'),(null),('a')) t(x);

select string_agg(x, null), string_agg(distinct x, '-')
from (values ('b')) t(x);

select var_pop(x), var_samp(x), variance(x), stddev(x), stddev_pop(x), stddev_samp(x)
from (values (6),(3),(null),(7)) t(x);

select var_pop(x), var_samp(x), variance(x), stddev(x), stddev_pop(x), stddev_samp(x)
from (values (6.25::numeric(15,2)),(3.11),(null),(7.05)) t(x);

select var_pop(x), var_samp(x), variance(x), stddev(x), stddev_pop(x), stddev_samp(x)
from (values (6.25::float8),(3.11),(null),(7.05)) t(x);

select var_pop(x), var_samp(x), stddev(x), stddev_pop(x)
from (values (100000::int8),(3),(null),(77777)) t(x);

select corr(x,y), covar_pop(x,y), covar_samp(x,y), regr_avgx(x,y), regr_avgy(x,y), regr_count(x,y)
from (values (5,2),(3,7),(1,null),(9,1)) t(x,y);

select regr_intercept(x,y), regr_r2(x,y), regr_slope(x,y), regr_sxx(x,y), regr_sxy(x,y), regr_syy(x,y)
from (values (5,2),(3,7),(1,null),(9,1)) t(x,y);

select corr(x,y), regr_slope(x,y), regr_r2(x,y), regr_intercept(x,y)
from (values (5,2),(5,2)) t(x,y);

select corr(x,y), regr_slope(x,y), regr_r2(x,y)
from (values (5,2),(5,3)) t(x,y);

select percentile_cont(0.5) within group (order by x), percentile_disc(0.5) within group (order by x)
from (values (5),(2),(null),(8),(9)) t(x);

select percentile_cont(0.25) within group (order by x desc), percentile_disc(0.25) within group (order by x desc)
from (values (5),(2),(null),(8),(9)) t(x);

select percentile_cont(2) within group (order by x)
from (values (5)) t(x);

select percentile_cont(null) within group (order by x)
from (values (5)) t(x);

select mode() within group (order by x), mode() within group (order by x desc)
from (values (5),(2),(null),(2),(5),(1)) t(x);

select percentile_disc(0.5) within group (order by x)
from (values ('b'),('a'),('c')) t(x);

select avg(distinct x), sum(distinct x), count(distinct x)
from (values (1),(1),(4)) t(x);

select avg(x) filter (where x>1), sum(x) filter (where x>1), stddev(x) filter (where x>0)
from (values (1),(1),(4)) t(x);

select x, row_number() over (order by x), rank() over (order by x), dense_rank() over (order by x), percent_rank() over (order by x), cume_dist() over (order by x), ntile(2) over (order by x)
from (values (1),(1),(4)) t(x) order by 1,2; -- ordered

select x, lag(x) over (order by x), lead(x,2) over (order by x), lag(x,1,-5) over (order by x), first_value(x) over (order by x), last_value(x) over (order by x), nth_value(x,2) over (order by x)
from (values (1.5),(2.25),(4)) t(x) order by 1; -- ordered

select ntile(0) over ()
from (values (1)) t(x);

select nth_value(x,0) over ()
from (values (1)) t(x);

select lag(x,1,2.55) over (order by x)
from (values (1.5),(2)) t(x);

select min(x), max(x)
from (values ('ab'::char(4)),('aa')) t(x);

select min(x), max(x)
from (values (timestamp '2020-01-01 10:00'),('1999-01-01')) t(x);

select round(avg(x), 2), trim_scale(0.2*avg(x))
from (values (1.10::numeric(15,2)),(2.25),(null),(7)) t(x);

select sum(x), sum(x) over (order by x)
from (values (9223372036854775807::int8),(9223372036854775806)) t(x) group by x;

select x, sum(x) over (order by x), trim_scale(avg(x) over (order by x)), count(*) over ()
from (values (1.5),(2.25),(4)) t(x) order by 1; -- ordered
select sum(x) from (values (1e308::float8), (1e308)) v(x);
select avg(x) from (values (1e308::float8), (1e308)) v(x);
select sum(x), avg(x) from (values ('infinity'::float8), (1e308), (1e308)) v(x);
select sum(x), avg(x) from (values ('-infinity'::float8), ('infinity'), (1)) v(x);
select sum(x) from (values (3e38::float4), (3e38)) v(x);
select n, sum(x) over (order by n), avg(x) over (partition by n % 2 order by n) from (values (1, 1.5::float8), (2, 2), (3, null), (4, 'infinity')) v(n, x);
select sum(x) over (order by n) from (values (1, 1e308::float8), (2, 1e308)) v(n, x);
select variance(distinct x), stddev_pop(distinct x), avg(distinct x) from (values (2), (-2), (-2), (1), (null)) v(x); -- refused: spark
select sum(distinct x) from (values (interval '1 day'), (interval '1 month 1 day')) v(x); -- refused: local spark
select n_regionkey, string_agg(distinct left(n_name, 1), ',' order by left(n_name, 1) desc), string_agg(distinct left(n_name, 1), ', ') from nation group by 1;
select string_agg(distinct x, ',' order by x), string_agg(distinct x, '' order by x nulls first) filter (where x > 'a') from (values ('b'), ('a'), (null), ('b'), ('')) t(x);
select string_agg(distinct x, ',' order by x) from (values ('b')) t(x) where false;
select percentile_cont(0.5) within group (order by x) from (values (interval '1 day'), (interval '2 days'), (interval '10 hours'), (null)) v(x); -- refused: spark
select percentile_cont(array[0, 0.3, 0.5, 1, null]) within group (order by x) from (values (interval '1 day'), (interval '2 days'), (interval '10 hours')) v(x); -- refused: spark
select percentile_cont(0.5) within group (order by x desc), percentile_cont(0) within group (order by x desc) from (values (interval '1 day'), (interval '2 days')) v(x); -- refused: spark
select g, percentile_cont(0.7) within group (order by x) from (values (1, interval '1 year'), (1, interval '2 days'), (2, interval '-3 hours 5.5 seconds')) v(g, x) group by g; -- refused: spark
select percentile_cont(0.3) within group (order by x) from (values (interval '1 month'), (interval '1 year 7 days 03:04:05.678901')) v(x); -- refused: spark
select percentile_cont(0.5) within group (order by x) filter (where x > interval '1 day') from (values (interval '1 day'), (interval '2 days'), (interval '3 days')) v(x); -- refused: spark
select percentile_cont(0.5) within group (order by x) from (values (interval '1 day')) v(x) where false; -- refused: spark
select percentile_cont(0.5) within group (order by make_interval(days => n_nationkey::int)) from nation group by n_regionkey; -- refused: spark
select percentile_cont(1.5) within group (order by x) from (values (interval '1 day')) v(x);
select percentile_cont(null::float8[]) within group (order by x), percentile_disc(null::float8[]) within group (order by x::text) from generate_series(1, 3) x;
select percentile_cont(null::float8[]) within group (order by interval '1 day'), percentile_cont(null::float8) within group (order by interval '1 day'); -- refused: spark
select var_pop(v), var_samp(v), stddev(v), stddev_pop(v) from (values (100000003::float8), (100000004), (100000006), (100000007)) t(v);
select corr(y, x), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), regr_sxx(y, x), covar_pop(y, x) from (values (100000003::float8, 1::float8), (100000004, 3), (100000006, 7), (100000007, 2), (null, 1)) t(x, y);
select var_pop(v), stddev(v) from (values (1::float8), ('NaN')) t(v);
select corr(y, x), regr_sxx(y, x), regr_syy(y, x), covar_samp(y, x) from (values (1::float8, 'Infinity'::float8), (2, 3)) t(x, y);
select var_pop(v) from (values (1e200::float8), (-1e200)) t(v);
select covar_pop(y, x) from (values (1e200::float8, 1e200::float8), (-1e200, 6)) t(x, y);
select corr(x, y) from (values (1e-100::float8, 5e-100::float8), (2e-100, 6e-100)) t(x, y);
select v, var_pop(v) over (order by v), stddev(v) over (order by v rows 1 preceding) from (values (100000003::float8), (100000004), (100000006), (100000007)) t(v);
select v > 100000004, var_pop(v) from (values (100000003::float8), (100000004), (100000006), (100000007)) t(v) group by 1 having stddev(v) + 1 > 1.5;
select regr_slope(distinct y, x), var_pop(distinct x) from (values (1::float8, 5::float8), (2, 7), (2, 7), (-2, 3)) t(x, y); -- refused: spark
select stddev(v), variance(v), stddev_pop(v), var_pop(v) from (select (1 + i % 10)::text::numeric from generate_series(1, 10000) i) t(v);
select stddev(v), variance(v), stddev_pop(v), var_pop(v) from (select (10000000000 + i)::text::numeric from generate_series(1, 10000) i) t(v);
select v % 3, round(stddev(v), 10), round(var_pop(v * 1.37), 10) from (select 10000000000 + i from generate_series(1, 1000) i) t(v) group by v % 3 having var_samp(v) > 1;
select round(var_pop(v) over (order by v rows 3 preceding), 10), round(stddev(v) filter (where v < 1700000006) over (), 10) from (select (1700000000.123456 + i)::text::numeric from generate_series(1, 9) i) t(v);
select n_regionkey, count(*) filter (where n_nationkey in (select r_regionkey from region except select 1)) from nation group by 1;
select n_regionkey from nation group by 1 having bool_or(exists (select sum(r_regionkey) over () from region where r_regionkey = n_nationkey));
select count((select string_agg(r_name, ',' order by r_name) from region) || n_name) filter (where n_nationkey > all (select r_regionkey from region limit 3)) from nation;
select sum((select max(r_regionkey) from region where r_regionkey <= n_nationkey)), string_agg(n_name, ',' order by (select count(*) from region where r_regionkey < n_nationkey), n_name) from nation;
select string_agg(n_name::bytea, '\x2c'::bytea order by n_nationkey desc) from nation where n_regionkey = 2;
select n_regionkey, string_agg(substr(n_name, 1, 1)::bytea, '\xff'::bytea order by n_name) filter (where n_nationkey > 2) from nation group by n_regionkey;
select string_agg(distinct substr(n_name, 1, 1)::bytea, '\x00'::bytea), string_agg(distinct substr(n_name, 1, 1)::bytea, ''::bytea order by substr(n_name, 1, 1)::bytea desc), string_agg(n_name::bytea, null) filter (where n_nationkey = 1) from nation;
select n_regionkey, count(*) filter (where n_nationkey in (select r_regionkey from region except select 1)) from nation group by rollup (n_regionkey);
select n_regionkey, count(*) filter (where n_nationkey in (select 1 union select 2)), bool_or(n_nationkey in (select 3 intersect select 3)) from nation group by cube (n_regionkey);

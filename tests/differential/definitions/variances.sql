create table n (v numeric, w bigint, e numeric(20,6), z numeric(12,2));
insert into n select 1 + i % 10, 10000000000 + i, 1700000000.123456 + i, (i % 7) * 1.37 - 4 from generate_series(1, 10000) i;
select stddev(v), variance(v), stddev_pop(v), var_pop(v), var_samp(v), stddev_samp(v) from n;
select stddev(w), variance(w), stddev_pop(w), var_pop(w), var_samp(w), stddev_samp(w) from n;
select stddev(e), variance(e), stddev_pop(e), var_pop(e), var_samp(e), stddev_samp(e) from n;
select stddev(z), variance(z), stddev_pop(z), var_pop(z), var_samp(z), stddev_samp(z) from n;
select stddev(distinct v), var_pop(distinct z), var_pop(distinct w) from n;
select v, stddev(z), var_pop(e) from n group by v order by v;
select stddev(v), var_pop(v) from (values (1::numeric), (2), (3.5)) t(v);
select stddev(v), var_pop(v) from (values (1::numeric)) t(v);
select stddev(v), var_pop(v) from n where v > 100;
select stddev(v) filter (where w % 2 = 0) from n;
select stddev(v) over (order by w rows 3 preceding) from n order by w limit 5;
select stddev(extract(epoch from timestamp '2024-01-01' + i * interval '1 hour')) from generate_series(1, 1000) i;
create table u (g int, v numeric);
insert into u select i % 10, (i % 7) * 1.37 - 4 from generate_series(1, 10000) i;
select g, round(stddev(v), 10), var_pop(v), var_samp(v) from u group by g order by g

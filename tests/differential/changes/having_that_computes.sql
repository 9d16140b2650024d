create table t (g int, x float8, n numeric, ts timestamp, i interval, b int);
insert into t select k % 5, k * 1.5, k, timestamp '2024-01-01' + k * interval '7 hour', k * interval '1 hour', k % 3 from generate_series(1, 40) k;
select g from t group by g having sum(x) / 2 > 120 order by 1;
select g from t group by g having avg(x) * 1.5 > 48 order by 1;
select g from t group by g having count(*)::float8 / 3 > 0.5 order by 1;
select g from t group by g having extract(year from max(ts)) = 2024 order by 1;
select g from t group by g having date_trunc('month', max(ts)) = '2024-01-01' order by 1;
select g from t group by g having max(ts) - min(ts) > interval '1 day' order by 1;
select g from t group by g having sum(x) / 2 > 120 or g = 1 order by 1;
select g, count(*) from t group by g having sum(n) / 2 > 80 and max(i) + interval '1 day' > interval '2 days' order by 1;
select * from (select g, sum(x) s from t group by g) q where s / 2 > 120 order by 1;
select * from (select g, max(ts) m from t group by g) q where date_trunc('day', m) > '2024-01-12' order by 1;
with q as (select g, sum(i) s, avg(n) a from t group by g) select g, s from q where s * 2 > interval '1 day' and a / 2 > 10.2 order by 1;
select g, sum(x) from t group by rollup (g) having sum(x) / 2 > 120 order by 1;
select count(*) from t having sum(x) / 2 > 1;
select g, (select count(*) from t u where u.g = t.g) from t group by g having avg(x) / 2 > 15 order by g desc limit 2

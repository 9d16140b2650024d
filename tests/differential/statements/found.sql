-- What random queries and fuzzing have found, each as the shortest statement that showed it; over the tables of `random_queries`.
select age(timestamp '2024-01-01 10:00') > interval '1 year' from q;
select age(timestamptz '1969-07-20 20:17:40+00') is null from q;
select null + tm, tm - null::interval, null::interval + time '24:00' from r;
select array_agg('x y'::text order by 'x y'::text) from q;
select string_agg(x, ',' order by 1) from q where x = 'A';
select f, -0.0, (-0.0)::float8, numeric '-0.00', -(0.0) from r;
select timezone('UTC', 'infinity'::timestamp), timezone(interval '1 hour', '-infinity'::timestamptz), timezone('est', ts) from r;
select date_bin('15 minutes', ts, '2024-01-01') from r;
select date_bin('15 minutes', timestamp '2024-01-01', ts) from r;
select date_bin(null, ts, '2024-01-01') from r;
select date_bin('15 minutes', ts, nullif(d, d)), date_bin(null, '2024-01-01', ts) from r;
select substring(y, 2147483647, 10), substr(y, 2, 2147483647) from r;
select date '2024-01-01' - 3000000;
select d - 3000000 from r;
select d + 2147483647 from q;
select timestamp '2024-01-01' - interval '10000 years';
select tz - interval '10000 years' from r;
select d - interval '10000 years' < '2024-01-01' from q;
select make_date(-4800, 1, 1);
select make_date(5874898, 1, 1);
select make_timestamp(-4800, 1, 1, 0, 0, 0);
select make_timestamp(294277, 1, 1, 0, 0, 0);
select null::timetz < '10:00+02'::timetz, null::timetz = '10:00+02'::timetz, null::timetz <> null::timetz;
select x = '10:00+02'::timetz from (values (null::timetz), ('10:00+02')) v(x);
select array_agg(version() order by version()) is not null, string_agg('a', ',' order by current_user);
select set_bit('\x00ff'::bytea, 1, x), set_byte('\x00ff'::bytea, 1, x), get_bit('\x00ff'::bytea, x) from (values (null::int), (1)) v(x);
select max(distinct ('10:00+02'::timetz)), min(distinct b), bool_or(distinct b), max(distinct x order by x) from r group by i
select case when 1=0 then 1/0 when 1=1 then 1 else 2/0 end
select case 1 when 0 then 1/0 when 1 then 1 else 2/0 end
select case when 1=1 then 1/0 when 1=1 then 1 else 2/0 end
select case when 1=0 then 1 else 2/0 end
select var_pop('inf'::float8), var_samp('inf'::float8), stddev_pop('nan'::float8), stddev('inf'::float4), variance('nan'::float8), var_pop(2::float8)
select var_pop(x) over (partition by x), stddev_pop(x) over () from (values ('inf'::float8)) v(x)
select stddev_pop(x::float4::numeric), var_pop(x::float4::numeric) from (values (324.78),(7.8),(56.0)) v(x)
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, '+2') at time zone 'UTC', make_timestamptz(1973, 07, 15, 08, 15, 55.33, '-2:30') at time zone 'UTC'
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, '2')
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, '+16')
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, 'Europe/Berlin') at time zone 'UTC'
select sqrt(1.000000000000003::numeric), sqrt(8015491789940783531003294973900306::numeric), sqrt(2::numeric)
select sqrt(x) from (values (1.000000000000003::numeric),(2),(null),(0),(1.000000000000005)) v(x)
select 0.0009995::numeric(3,6)
select 999500000::numeric(3,-6)
select x::numeric(3,-2) from (values (99950.0::numeric)) v(x)
select x.n from r o, lateral (select count(o.i) as n from q) x
select x.n from r o join lateral (select (select max(o.i) from q) as n) x on true
select x.n from r o, lateral (select grouping(o.i) as n) x
select (select x.n from q, lateral (select count(o.i) as n) x limit 1) from r o
select x.n from r o, lateral (select sum(v) as n from (select o.i as v from q) z) x
with recursive t(v) as (select '1 day'::interval union select '24:00'::interval from t) select count(*) from t
select greatest(a, b)::text, least(a, b)::text, greatest(b, null, a)::text, least(null, c, a) = c, greatest(c, c)::text from (values ('25:00'::interval, '1 day'::interval, null::interval), ('30 days', '1 mon', '-1 day'), (null, '1 mon', '1 year')) t(a, b, c)
select array_agg(distinct v)::text, count(distinct v) from (values ('12:00+00'::timetz), ('13:00+01'), (null), ('11:00-01'), ('12:00+00')) t(v)
select array_agg(distinct v)::text, json_agg(distinct v)::text from (values ('[10,12)'::int4range), ('[3,9)'), ('[3,8]'), (null)) t(v)
select ntile(k) over (order by n) from (select 2 as k, n from (values (1), (5), (3)) t(n)) x order by 1
select n % 2, ntile(max(2)) over (order by n % 2) from (values (1), (2), (3)) t(n) group by 1 order by 1
select o.k, x.v from (values (1), (2)) o(k), lateral (select ntile(o.k) over (order by n rows between current row and current row) v from (values (1), (5), (3)) t(n)) x order by 1, 2

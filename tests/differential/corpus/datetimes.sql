select date '2024-02-29' + 1, date '2024-03-01' - date '2024-02-01', date '2024-01-31' + interval '1 month', timestamp '2024-03-31 12:00' - interval '1 month';
select interval '1 year 2 months 3 days 04:05:06.7', interval '-1 day', interval '90 minutes', interval '1' day, interval '2-3' year to month;
select timestamp '2024-03-10 15:00' - timestamp '2024-03-01 12:30', age(timestamp '2024-03-10', timestamp '2020-02-29'), interval '1 day' * 2.5, interval '1 month' / 2, interval '1 day' + interval '3 hours';
select extract(year from date '2024-05-06'), extract(dow from date '2024-05-05'), extract(isodow from date '2024-05-05'), extract(week from date '2024-12-30'), extract(quarter from date '2024-05-06'), extract(doy from date '2024-12-31'), extract(epoch from timestamp '1970-01-02 00:00:01.5');
select extract(second from time '10:11:12.5'), extract(hour from timestamp '2024-01-01 23:59'), date_part('minute', timestamp '2024-01-01 23:59'), extract(day from interval '40 days 1 hour'), extract(century from date '2000-12-31'), extract(isoyear from date '2024-12-30');
select date_trunc('month', timestamp '2024-05-17 10:11:12'), date_trunc('week', date '2024-05-17'), date_trunc('hour', interval '1 day 10:11:12'), date_trunc('quarter', timestamp '2024-05-17');
select make_date(2024, 2, 29), make_timestamp(2024, 1, 2, 3, 4, 5.5), make_interval(days => 3), to_timestamp(0) at time zone 'UTC';
select timestamp '2024-07-01 12:00' at time zone 'Europe/Paris', timestamptz '2024-07-01 12:00+00' at time zone 'America/New_York', timestamptz '2024-01-01 00:00:00+05:30';
select to_char(timestamp '2024-05-06 07:08:09', 'YYYY-MM-DD HH24:MI:SS'), to_char(date '2024-05-06', 'Mon DD, YYYY Day'), to_char(1234.5, 'FM9,999.00'), to_char(42, '00000'), to_char(-7, '999');
select to_date('06 May 2024', 'DD Mon YYYY'), to_timestamp('2024-05-06 10:20', 'YYYY-MM-DD HH24:MI') at time zone 'UTC', to_number('1,234.5', '9,999.9'); -- refused: spark
select date '2024-13-01';
select timestamp '2024-02-30 00:00';
select date 'infinity', timestamp '-infinity', isfinite(date 'infinity'); -- refused: spark
select date '2024-01-01' < timestamp '2024-01-01 00:00:01', date '2024-01-01' = timestamptz '2024-01-01 00:00+00';
select (date '2024-01-01', date '2024-02-01') overlaps (date '2024-01-15', date '2024-03-01');
select justify_days(interval '35 days'), justify_hours(interval '27 hours'), justify_interval(interval '1 mon -1 hour'), interval '1 mon' = interval '30 days', interval '1 day' > interval '23 hours';
select o_orderdate, o_orderdate + interval '1 month', extract(month from o_orderdate), date_trunc('year', o_orderdate) from orders where o_orderkey < 40;
select min(o_orderdate), max(o_orderdate), max(o_orderdate) - min(o_orderdate) from orders;
select g from generate_series(timestamp '2024-01-01', timestamp '2024-01-02', interval '6 hours') g;
select g::date from generate_series(date '2024-01-30', date '2024-02-02', '1 day') g;
select time '10:00' + interval '15 hours', time '12:00' - time '10:30', date '2024-01-01' + time '10:00', '10:11:12.123456'::time(3);
select current_date = now()::date, now() = current_timestamp, localtimestamp = now()::timestamp;
select extract(julian from timestamp '2020-01-01 12:34:56.789'), extract(julian from timestamptz '2020-01-01 23:59:59.999999'); -- refused: spark
select extract(julian from timestamp '2020-01-01 00:00:08.649999'), extract(julian from timestamp '2020-01-01 00:00:08.65'), extract(julian from timestamp '2020-01-01 00:00:00.000863'), extract(julian from timestamp '2020-01-01 00:00:00.000865'); -- refused: spark
select extract(julian from d), extract(julian from d::timestamp + interval '1 hour 1 second') from (values (date '2000-02-29'), (date '0001-01-01 BC'), (date '1969-07-20'), ('4714-11-24 BC'), (null)) v(d); -- refused: spark
select extract(julian from d) - 2440000.5 from (values (timestamp '2000-02-29 06:00'), (null)) v(d); -- refused: spark
with v (iv, b) as (values (interval '30 days', true), ('1 mon', false), ('1 day 03:00', null), ('-1 us', true), (null, true)) select a.iv, b.iv, a.iv = b.iv, a.iv <> b.iv, a.iv < b.iv, a.iv >= b.iv, a.iv > '1 day', '720:00:00'::interval = a.iv, greatest(a.iv <= b.iv, b.b) from v a, v b order by 1, 2, a.iv::text, b.iv::text;

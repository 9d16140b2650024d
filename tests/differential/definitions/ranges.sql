create table r (id int primary key, a int4range, d daterange, t tsrange, z tstzrange, n numrange);
insert into r values (1, '[1,5)', '[2020-01-01,2020-02-01)', '[2020-01-01,2020-01-02)', '[2020-01-01 00:00+00,)', '[1.5,2.5]'), (2, '[5,9)', '(,2020-01-15)', '(2020-01-02,2020-01-03]', '(,2020-01-01 00:00+00]', '(2.5,3)'), (3, 'empty', 'empty', 'empty', 'empty', 'empty'), (4, null, null, null, null, null), (5, '(,)', '(,)', '(,)', '(,)', '(,)'), (6, '[3,6)', '[2020-01-10,2020-01-11)', '[2020-01-01 12:00,2020-01-02 12:00)', '[2019-01-01 00:00+00,2021-01-01 00:00+00)', '[1,1]');
select id, lower(a), upper(a), isempty(a), lower_inc(a), upper_inc(a), lower_inf(a), upper_inf(a) from r order by id;
select id, lower(d), upper(d), lower(t), upper(t), lower(z), upper(z), upper_inc(n), lower_inf(z) from r order by id;
select id, lower(n) = 1.5, upper(n) from r order by id;
select id, a @> 3, a @> 5, 4 <@ a, d @> '2020-01-10'::date, t @> '2020-01-02'::timestamp, z @> '2020-01-01 00:00+00'::timestamptz, n @> 2.5 from r order by id;
select x.id, y.id, x.a @> y.a, x.a <@ y.a, x.a && y.a, x.a << y.a, x.a >> y.a, x.a -|- y.a from r x, r y order by 1, 2;
select x.id, y.id, x.t @> y.t, x.t <@ y.t, x.t && y.t, x.t << y.t, x.t >> y.t, x.t -|- y.t from r x, r y order by 1, 2;
select x.id, y.id, x.n @> y.n, x.n <@ y.n, x.n && y.n, x.n << y.n, x.n >> y.n, x.n -|- y.n from r x, r y order by 1, 2;
select x.id, y.id, x.z @> y.z, x.z && y.z, x.z -|- y.z, x.d @> y.d, x.d && y.d from r x, r y order by 1, 2;
select id from r where a && '[4,6)' order by id;
select id from r where a @> 4 and not isempty(d) order by id;
select int4range(1, 5), int4range(null, 5), int4range(1, 1), int4range(id, id + 2) @> 3, daterange('2020-01-01', '2020-03-01') from r order by id;
select int4range(5, 1);
select int8range(id, null) from r order by id;
select count(*) from r where a = '[1,5)';
select daterange(b, null) = '["0044-03-15 BC",)', daterange(b, '2020-01-01') = '["0044-03-15 BC",2020-01-01)', daterange(b, b + 1) = '["0044-03-15 BC","0044-03-16 BC")', daterange(null, b) = '(,"0044-03-15 BC")', lower(daterange(b, null))::text, daterange(b, null) @> b, daterange(b, null) = '[2019-01-01,)' from (values (date '0044-03-15 BC'), ('2019-01-01')) v(b);
select lower('[0044-03-15 01:02:03 BC,2020-01-01)'::tsrange)::text, lower('[0044-03-15 BC,2020-01-01)'::daterange)::text;
select v from (values (1)) t(v) where date '0044-03-15 BC' < current_date and v > 0

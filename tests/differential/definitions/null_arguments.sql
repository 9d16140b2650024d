select array_to_string('{null}'::int[], ','), array_to_string('{}'::int[], ','), array_to_string(null::int[], ','), array_to_string('{null,1}'::int[], ','), array_to_string('{1,null}'::int[], ',', '*'), array_to_string('{1,2}'::int[], null);
select array_to_string(a, s) from (values ('{null}'::int[], ','), ('{null,2}', '-'), ('{}', '-'), (null, '-'), ('{1,2}', null)) t(a, s);
select '1010'::bit(4) << null, '1010'::bit(4) >> null, b'1010' << 1, b'1010' >> 1, b'1010' << -1;
select substring(b'1010', null), substring(b'1010', 2), substring(b'1010', 2, null), substring(b'1010', null, 1), substring(b'1010', 2, 2);
select x << n, x >> n, substring(x, n), substring(x, n, n), substring(x, 1, n) from (values (b'1010', 1), (b'1010', null), (null, 1)) t(x, n);
select jsonb_build_object('2024-01-02 03:04:05+00'::timestamptz, 1), json_build_object('2024-01-02 03:04:05'::timestamp, 1, true, 2, date '2024-01-01', 3);
select ('1 2 3'::int2vector)[0:1], ('1 2 3'::int2vector)[:1], ('1 2 3'::int2vector)[1:], ('1 2 3'::int2vector)[2:1];
select true::name, false::name, b::name from (values (true), (null)) t(b);
select count(*) over (order by y range between unbounded preceding and 0 preceding) from (values (1),(1),(1),(2),(2)) t(y);
select count(*) over (order by y rows between 0 preceding and 0 following), count(*) over (order by y groups between 0 preceding and 1 following) from (values (1),(1),(1),(2),(2)) t(y);
select a @> b, a <@ b, b @> a from (values ('{1,2,null}'::int[], '{1,2,null}'::int[]), ('{}', '{}'), (null, '{1,null}'), ('{1,null}', null), ('{1,2}', '{1}')) t(a, b);
select jsonb_set('{"a":1}', '{a,null,c}', '1')

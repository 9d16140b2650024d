select 1 + 1, 7 / 2, -7 / 2, 7 % 3, -7 % 3, 2 ^ 10, 7.0 / 2, 1 / 3.0;
select 1::smallint + 1::smallint, 1::smallint + 1::bigint, 1 + 1.5, 1 + 1.5::float8;
select 2147483647 + 1;
select 9223372036854775807 + 1;
select 32767::smallint + 1::smallint;
select 1 / 0;
select 1.0 / 0;
select 1::float8 / 0;
select 5 % 0;
select 10.0 / 3, 2::numeric / 3, 100 / 7.0, 1e10::numeric / 3, 0.001 / 7;
select 1.10 + 2.2, 1.10 * 2.20, 1.5 - 3, -1.50, abs(-2.5), round(2.567, 2), round(-2.5), trunc(2.9), ceil(-0.5), floor(-0.5);
select round(1234.567, -2), mod(7.5, 2), power(2.5, 2.5), sqrt(2), exp(1), ln(10), log(100);
select cast('12' as int), '3.14'::numeric, '1e3'::float8, 'true'::bool, '2020-02-29'::date;
select 'abc'::int;
select '99999999999'::int;
select 2.5::int, 3.5::int, -2.5::int, 2.5::float8::int, 3.5::float8::int;
select 1::text || 'x', 1.50::text, true::text, 1.5::float8::text, date '2020-01-01'::text;
select 123.456::numeric(5,1), 123.456::numeric(10,4), 0.5::numeric(3,0);
select 12345.6::numeric(4,1);
select null = null, null is null, 1 is distinct from null, null is not distinct from null;
select true and null, false and null, true or null, not null::bool;
select 1 = 1 is true, null::bool is unknown, (1 > 2) is false;
select 5 between 1 and 10, 5 not between 6 and 10, 5 between symmetric 10 and 1;
select 1 in (1, 2, null), 3 in (1, 2, null), 3 not in (1, 2);
select (1, 2) = (1, 2), (1, 2) < (1, 3), (1, null) is null, row(1, 2) is not null;
select case when 1 > 2 then 'a' when 2 > 1 then 'b' end, case 3 when 1 then 'x' else 'y' end, case when false then 1 end;
select coalesce(null, 2, 3), nullif(1, 1), nullif(1, 2), greatest(1, null, 3), least(2, 1);
select 1 + '2', '3' * 2, 'a' || 'b' || 1;
select 1 + 'x';
select 1 || 2;
select 'a' + 1;
select nope(1);
select upper(1);
select 1.5::float4, 0.1::float4 + 0.2::float4, 0.1::float8 + 0.2::float8, 1e20::float8, 1e-7::float8, 'NaN'::float8, '-Infinity'::float8;
select 100000000000000000000::float8, 123456789012345.678::float8, 1e15::float8, 1e14::float8, 0.0001::float8, 0.00001::float8;
select 17 & 5, 17 | 5, 17 # 5, ~5, 1 << 4, 256 >> 2, @ -5, |/ 25.0, ||/ 27.0;
select 'char pad'::char(12), 'truncated'::varchar(4), 'ab'::char(4) = 'ab  ', length('ab'::char(4)), 'x'::char(3) || 'y';
select pg_typeof(1), pg_typeof(1.5), pg_typeof('x'), pg_typeof(null), pg_typeof(now()), pg_typeof(array[1]);
select '\x6869'::bytea, 'a'::bytea || 'b'::bytea;
select 'd2f3b2a0-1111-4222-8333-0123456789ab'::uuid = 'D2F3B2A0-1111-4222-8333-0123456789AB'::uuid;
select width_bucket(5.35, 0.024, 10.06, 5), gcd(12, 18), lcm(4, 6), factorial(10), sign(-2.5), div(7, 2), pi(), degrees(pi()), radians(180.0);

select z, z <> 0 and 10 / z between 1 and 5, (z = 0 or 10 / z between 3 and 5) is null
from generate_series(0, 3) z order by z;

select v::text from (values ('2024-02-29 12:34:56.7'::timestamp::text), (null::timestamp::text)) x(v);
select v from (values ('[1,5)'::int4range @> 3), (null::int4range @> 3)) x(v);
select v from (values (cot(2.25::float8)), (cot(null::float8)), (-1)) x(v);
select v from (values (array[1, 2]), (array_append(array[1], 3)), (null)) x(v);
select v from (values (3 between 1 and 2), (2 not between 1 and 3), (nullif(1, 2) = 1)) x(v);
select n_name from nation where n_name::int > 3 and n_nationkey = -1;
select n_name from nation where n_nationkey in (1, 2) and 1 / (n_nationkey - 3) <= 0 and n_regionkey is not null;
select count(*) from (select case floor(random() * 2) when 0 then 'a' when 1 then 'b' end as x from generate_series(1, 200)) q where x is null;
select count(*) from (select nullif(floor(random() * 2), 1) as x from generate_series(1, 200)) q where x = 1;
select count(*) from (select floor(random() * 3) in (0, 1, 2) as x from generate_series(1, 200)) q where not x;
select count(*) from (select (random() * 2)::int::numeric not in (0, 1.0, 2) as x from generate_series(1, 200)) q where x;
select count(*) from nation where case floor(random() * 2)::int when 0 then n_name > '' when 1 then true else false end;
select count(*) from (select case (random() * 2)::int when 0 then count(*) when 1 then (select 7) else n_regionkey end as x from nation group by n_regionkey) q where x is null; -- refused: spark
select case random() when '2024-01-01' then 1 end;
-- points of their coordinates
select n, point(n, n / 4.0), point(null, n) is null, point(1e20, n)::text from generate_series(-1, 2) n order by 1;
-- ranges of days in texts: of which style depends on the session
select n_name::daterange from (values ('[01/02/2020,)')) v(n_name); -- refused: local spark
select n, r::daterange, r::tsrange, r::tstzrange from (values (1, '[2020-01-01,2020-02-01]'), (2, '(,]'), (3, null)) v(n, r) order by n;

select
    greatest(1,2.5,null),
    least(1,2.5,null),
    greatest('a','b'),
    greatest(null,null),
    ceil(-0.5::float8),
    ceil(2.1::float8),
    ceil(1e300::float8),
    ceil('nan'::float8);

select
    ceil(2.1),
    ceil(-9.5),
    floor(-9.5),
    floor(-0.5::float8),
    floor(2.7::float8),
    round(2.5::float8),
    round(-2.5::float8),
    round(3.5::float8);

select
    round(-0.4::float8),
    round(2.5),
    round(-2.5),
    round(9.5),
    round(2.555,2),
    round(-2.555,2),
    round(2.5,4),
    round(1250.5,-2);

select
    round(99.5,-2),
    round(5.5,-2),
    round(null::numeric,2),
    trunc(2.7::float8),
    trunc(-2.7::float8),
    trunc(-0.7::float8),
    trunc(2.567,2),
    trunc(-2.567,1);

select
    trunc(1234.567,-2),
    trunc(-2.7),
    abs(-5),
    abs(-2.50),
    abs('-nan'::float8),
    @ -5.5,
    sign(-5.5),
    sign(0.0);

select
    sign(-5.5::float8),
    sign('nan'::float8),
    sqrt(2::float8),
    |/ 25.0::float8,
    ||/ 27.0::float8,
    cbrt(-27::float8),
    cbrt(0::float8),
    cbrt(2::float8);

select
    power(2::float8,10),
    2::float8 ^ 0.5::float8,
    power(-2::float8,3::float8),
    power('nan'::float8,0::float8),
    power(1::float8,'nan'::float8),
    power('infinity'::float8,2::float8),
    power(-1::float8,'infinity'::float8),
    power(0::float8,'infinity'::float8);

select
    power(0.5::float8,'infinity'::float8),
    power(null::float8,0::float8),
    2 ^ 3,
    exp(1::float8),
    exp('-infinity'::float8),
    ln(2::float8),
    log(1000::float8),
    log10(1000::float8);

select
    pi(),
    degrees(pi()),
    radians(180::float8),
    sin(1::float8),
    cos(1::float8),
    tan(1::float8),
    cot(1::float8),
    cot(0::float8);

select
    asin(0.5::float8),
    acos(0.5::float8),
    acos('nan'::float8),
    atan(1::float8),
    atan2(1::float8,-1::float8),
    sinh(1::float8),
    cosh(1::float8),
    tanh(1::float8);

select
    asinh(1::float8),
    acosh(2::float8),
    atanh(0.5::float8),
    atanh(1::float8),
    gcd(12,18),
    gcd(-12,18),
    gcd(0,0),
    gcd(0,5);

select
    gcd(12::int8,18::int8),
    lcm(4,6),
    lcm(-4,6),
    lcm(0,6),
    factorial(5),
    factorial(0),
    factorial(33),
    div(9,4);

select
    div(-9.5,4),
    div(9.5,0.25),
    width_bucket(5.35::float8,0.024,10.06,5),
    width_bucket(0::float8,10,0,5),
    width_bucket(5::float8,10,0,5),
    width_bucket(11::float8,10,0,5),
    width_bucket(5.35,0.024,10.06,5),
    width_bucket(10.06,0.024,10.06,5);

select
    width_bucket(0.01,0.024,10.06,5),
    width_bucket(5,10,0,5),
    scale(2.50),
    min_scale(2.50),
    min_scale(200),
    min_scale(200.00),
    trim_scale(2.500),
    mod(7,-3);

select
    mod(-7.5,2),
    -7 % 3,
    (-2147483648) % (-1),
    7/2,
    -7/2,
    7.5 % 2,
    0.0/5,
    'nan'::float8/0;

select
    'infinity'::float8 + 1,
    'infinity'::float8 - 'infinity'::float8,
    1.1::float4+1.1::float8,
    1::float4/3::float4,
    32767::int2+1,
    2147483647::int8+1,
    5 & 3,
    5 | 3;

select
    5 # 3,
    ~5,
    1 << 31,
    1 << 32,
    1::int8 << 63,
    1::int2 << 15,
    1::int2 << 20,
    -8 >> 1;

select
    8 >> 33,
    (-8)::int2 >> 1,
    (-8)::int8 >> 65,
    1.10+2.205,
    1.10-2.2,
    1.10*2.25,
    1.10::numeric(15,2)*(1-0.05)*(1+0.07),
    1/3.0;

select
    2/3.0,
    10/3.0,
    12345/10001.0,
    1.0/30000,
    -2/3.0,
    100.00*3/7.0,
    12345678901234567890.12*1.1,
    +5.5;

select
    - 5.5,
    - (-5.5);

select abs((-32768)::int2);

select abs((-2147483648)::int4);

select sqrt(-1::float8);

select power(0::float8,-1::float8);

select power(-1::float8,0.5::float8);

select power(10::float8,400::float8);

select power(10::float8,-400::float8);

select exp(1000::float8);

select exp(-1000::float8);

select ln(0::float8);

select ln(-1::float8);

select log(0::float8);

select sin('infinity'::float8);

select asin(2::float8);

select acosh(0.5::float8);

select atanh(2::float8);

select gcd((-2147483648),0);

select lcm(2147483647,2);

select factorial(-1);

select div(1,0);

select width_bucket(5::float8,1,1,5);

select width_bucket(5::float8,1,2,0);

select width_bucket(5,1,1,5);

select mod(7,0);

select (-2147483648) / (-1);

select 7/0;

select 7.0/0;

select 1::float8/0;

select 0::float8/0;

select 1e308::float8*10;

select 1e-300::float8*1e-300::float8;

select 1e308::float8+1e308::float8;

select 3e38::float4*10::float4;

select 32767::int2+1::int2;

select 32767::int2*2::int2;

select 2147483647+1;

select 9223372036854775807+1;

select -(-32768)::int2;

select - ((-2147483648)::int4);
select '1.555'::text::numeric(30,2), '1234567890123456789012.555'::text::numeric(30,2), '12.345'::varchar::numeric(4,1), '{{1.555,2},{3,null}}'::text::numeric(5,2)[];
select '123456789012'::text::numeric(10,2);
select '10101'::text::bit(3), '10101'::text::varbit(3), '{101,11111}'::text::varbit(2)[];
select x::numeric(20,10), x::numeric(10,2), x::numeric(30,18), x::numeric(9,0) + 1 from (values ('0.009950330853168083'), ('1.5'), ('1e-20'), (null), ('-2.5'), ('0.00499999999999999999'), ('9.5e-05'), (' 7 ')) v(x);
select x::numeric(20,18) from (values ('0.009950330853168083'), ('-1.5'), ('12.1234567890123456785')) v(x);
select x::numeric(5,2) from (values ('0.009950330853168083'), ('12345678')) v(x);

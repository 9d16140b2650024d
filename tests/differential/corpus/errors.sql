select * from nowhere;
select nope from nation; -- no plan
select n.nope from nation n; -- no plan
select x.n_name from nation n; -- no plan
select n_name from nation, nation; -- no plan
select n_comment, r_comment, comment from nation, region; -- no plan
select n_nationkey from nation a, nation b; -- no plan
selec 1;
select from where;
select 1 +;
select * from nation where n_name; -- no plan
select * from nation where n_name = 1; -- no plan
select sum(n_name) from nation; -- no plan
select count(distinct) from nation; -- no plan
select 1 union select 1, 2;
select 1 union select 'x';
select max(count(*)) from nation; -- no plan
select * from (select 1);
select a.* from nation b; -- no plan
select 1 as a, 2 as b from nation group by 3; -- no plan
select interval 'nonsense';
select 'x'::nosuchtype;
select $1::int + 1;
select * from nation limit 'x'; -- no plan
select array[1,2]['a'];
select cast(1 as date);
select date '2020-01-01' + date '2020-01-01';
select (select 1, 2);
select 1 in (select 1, 2);
with a as (select 1) select * from b;
select lag(1) from nation; -- no plan
select row_number() over (order by nope) from nation; -- no plan
select 1 from nation having n_name = 'x'; -- no plan
select ln(0);
select sqrt(-1);
select (-8) ^ 0.5;
select (generate_series(1, 2), 1) = (1, 1);
select (generate_series(1, 2), 1) = (select 1, 1);
select generate_series(1, 2) in (select 1);
select (1, 1) in ((generate_series(1, 2), 1));
select generate_series(1, 2) between 1 and 2;
select generate_series(1, 2) > 1 and true;
select not (generate_series(1, 2) > 1);
select count(*) filter (where generate_series(1, 2) > 1);
select generate_series(1, 2) > all (select 1);
select x from (values (32767::smallint), (1)) t(x) where x::smallint + 1::smallint > 32767;
select x from (values (2147483647), (1)) t(x) where (x + 1)::bigint > 3000000000;
select x from (values (2147483647), (1)) t(x) where x + 1 > 7;
select sum(x + 1) from (values (2147483647), (1)) t(x);
select x from (values (-9223372036854775808), (1)) t(x) where -x < 7;
select x / y from (values (-9223372036854775808, -1::bigint), (1, 1)) t(x, y);

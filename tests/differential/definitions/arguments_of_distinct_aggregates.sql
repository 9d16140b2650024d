create table g (a int, b int, x float8);
insert into g select i % 3, i, i * 1.5 from generate_series(1, 20) i;
select string_agg(distinct x::text, ',' order by x::text) from g;
select a, string_agg(distinct x::text, ',' order by x::text desc), count(*), sum(b) from g group by a order by a;
select string_agg(distinct (1 / (b - 3))::float8::text, ',' order by (1 / (b - 3))::float8::text) filter (where b <> 3) from g;
select count(distinct (select max(b) from g h where h.a = g.a)) from g;
select sum(distinct (select max(b) from g h where h.a = g.a)) from g;
select array_agg(distinct (select max(b) from g h where h.a = g.a) order by (select max(b) from g h where h.a = g.a)) from g;
select array_agg(distinct a order by b) from g;
select percentile_disc(0.5) within group (order by 'a') from g;
select mode() within group (order by 'a') from g;
select percentile_disc(0.5) within group (order by 'a'::text) from g;
select percentile_cont(0.5) within group (order by '1') from g;
select rank('a') within group (order by 'a') from g

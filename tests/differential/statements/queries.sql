select 1
select true, 'x', null, 1.5
select n_name from nation where n_regionkey = 1 order by n_name
select n_nationkey as a, n_name from nation order by a desc limit 3
select n_name from nation order by n_regionkey, n_nationkey desc limit 4 offset 1
select distinct n_regionkey from nation order by 1
select distinct on (n_regionkey) n_regionkey, n_name from nation order by n_regionkey, n_name desc
select distinct on (n_regionkey) n_name from nation order by n_regionkey, n_nationkey
select n_regionkey, count(*) from nation group by n_regionkey
select n_regionkey + 1 as x, count(*) c from nation group by x having count(*) > 2 order by x
select n_regionkey + 1, sum(n_nationkey) from nation group by 1
select count(*), sum(n_nationkey), avg(n_nationkey) from nation where false
select n_name, count(*) from nation
select n_regionkey, n_name from nation group by n_regionkey
select upper(n_name) from nation group by n_name order by upper(n_name) limit 2
select * from nation n join region r on n_regionkey = r_regionkey order by n_nationkey limit 2
select * from nation a natural join nation b where a.n_nationkey < 3 order by 1
select n_nationkey, a.n_name from nation a join nation b using (n_nationkey) order by 1 limit 2
select * from (values (1,'a'),(2,'b')) t(x,y) full join (values (2,'c'),(3,'d')) u(x,z) using (x) order by x
select x, t.x, u.x from (values (1),(2)) t(x) full join (values (2),(3)) u(x) using (x) order by 1
select * from (values (1),(2)) t(x) left join (values (2),(3)) u(y) on x = y order by 1
select * from (values (1),(2)) t(x) right join (values (2),(3)) u(x) using (x) order by 1
select t.* from (values (1,2)) t
select t from (values (1)) t(t)
select * from generate_series(1,3)
select * from generate_series(1,3) as g
select * from generate_series(1,3) as g(x)
select * from generate_series(1,3) with ordinality as g(x,o)
select g from generate_series(1,3) g
select * from unnest(array[1,2], array['a','b','c']) as u(a,b)
select generate_series(1,3), n_name from nation where n_nationkey = 1
select generate_series(1,2), generate_series(1,3)
select generate_series(1, generate_series(1,2))
select generate_series(1,3) + 1 as x order by x desc
select x, y from generate_series(1,2) x, lateral (select x * 10 as y) z
select x, y from generate_series(1,2) x cross join generate_series(x, 3) y order by 1,2
select n_name, (select r_name from region where r_regionkey = n_regionkey) from nation where n_nationkey < 2
select n_name from nation where exists (select 1 from region where r_regionkey = n_regionkey and r_name = 'ASIA')
select n_name from nation where n_regionkey in (select r_regionkey from region where r_name like 'A%')
select n_name from nation where n_regionkey not in (select r_regionkey from region where r_name like 'A%')
select r_name, (select count(*) from nation where n_regionkey = r_regionkey) c from region order by c, r_name
select r_name from region where r_regionkey = any (select n_regionkey from nation where n_name > 'S')
with a as (select 1 as x), b as (select x + 1 as y from a) select * from a, b
with a as (select n_regionkey k, count(*) c from nation group by 1) select * from a where c = (select max(c) from a) order by k
with recursive t(n) as (values (1) union all select n + 1 from t where n < 5) select * from t
with recursive t(n) as (select 1 union select n % 3 + 1 from t) select sum(n) from t
with recursive t as (select 1 as n, 'a'::text as s union all select n + 1, s || 'b' from t where n < 4) select * from t
with a as materialized (select 1 x) select * from a
with a(p,q) as (select 1, 2) select q, p from a
with a as (select 1 x) select * from (with a as (select 2 x) select * from a) b, a
select 1 union select 2 union all select 2 order by 1
select 1 union select '2'
select null union select 1
select 1 as x union all select 2.5 order by x desc
select n_regionkey from nation intersect select r_regionkey from region where r_regionkey < 3
select r_regionkey from region except all select 1
(select 1 order by 1) union (select 2 limit 1)
select * from (select n_nationkey from nation order by n_nationkey desc limit 3) x order by 1
values (1, 'a'), (2, null) order by column1 desc
values (1), (2.5)
select sum(x) over (order by x), row_number() over w from (values (1),(2),(3)) t(x) window w as (order by x desc) order by 2
select n_regionkey, sum(count(*)) over (order by n_regionkey) from nation group by n_regionkey order by 1
select n_regionkey, rank() over (order by count(*) desc, n_regionkey) from nation group by 1
select x, lag(x, 1, 0) over (order by x) from generate_series(1,3) x
select n_regionkey, count(*) from nation group by rollup(n_regionkey) order by 1 nulls first
select n_regionkey, n_nationkey > 10 as big, count(*), grouping(n_regionkey, n_nationkey > 10) from nation group by cube(n_regionkey, n_nationkey > 10)
select n_regionkey, count(*) from nation group by grouping sets ((n_regionkey), ())
select n_regionkey, r_name, count(*) from nation join region on n_regionkey = r_regionkey group by grouping sets ((n_regionkey, r_name), (r_name), ()) order by 1,2,3
select count(*) from nation group by ()
select n_regionkey, count(*) from nation group by grouping sets (n_regionkey, n_regionkey)
select (select sum(n_nationkey) from nation where n_regionkey = r_regionkey) from region order by 1
select r_name from region group by r_name having (select count(*) from nation where n_name < max(r_name)) > 3
select (select max(r_regionkey + n_nationkey) from nation) from region
select (select sum(r_regionkey) from nation limit 1) from region
select r_regionkey, (select count(*) from nation where n_regionkey = r_regionkey) from region group by r_regionkey
select r_name, (select count(*) from nation where n_regionkey = r_regionkey) from region group by r_name
select count(*) filter (where n_regionkey = 1), count(distinct n_regionkey) from nation
select string_agg(n_name, ',' order by n_name desc) from nation where n_regionkey = 2
select case when n_regionkey = 1 then 'a' else 'b' end k, count(*) from nation group by k order by k
select n_regionkey as k, count(*) from nation group by case when n_regionkey = 1 then 2 end, n_regionkey
select n.* from nation n where n_nationkey = 3
select nation.n_name, public.nation.n_nationkey from public.nation where public.nation.n_nationkey = 1
select x.n_name from (nation n join region r on n_regionkey = r_regionkey) x where n_nationkey = 1
select j.n_nationkey from nation a join nation b using (n_nationkey) as j where n_nationkey < 2
select * from current_date x where x is null
select from nation where n_nationkey < 3
select count(*) from (select from nation) x
select n_nationkey from nation fetch first 2 rows only
select n_regionkey from nation order by n_regionkey fetch first 2 rows with ties
select n_nationkey from nation limit null
select n_nationkey from nation order by 1 limit (select 2)
select n_nationkey from nation order by 1 limit all offset 23
select row(1,2) = row(1,2), (1,2) < (1,3)
select array(select n_nationkey from nation where n_nationkey < 3 order by 1)
select a.n_name from nation a, nation b where a.n_nationkey = b.n_regionkey and b.n_nationkey = 4
select x from (select 1 as x, 2 as x) t
select count(t.*) from nation t
select max(n_nationkey) from nation having max(n_nationkey) > 100
select 1 where false having true
select 1 having false
select sum(n_nationkey) + n_regionkey from nation group by n_regionkey order by sum(n_nationkey) desc, 1 limit 2
select n_regionkey from nation group by n_regionkey order by count(*) desc, n_regionkey
select distinct n_regionkey, n_regionkey * 2 from nation order by n_regionkey * 2
table region
select * from (table region) r where r_regionkey = 1
select x.a from (select n_name from nation limit 1) x(a)
select unnest(array[1,2,3]) as x, count(*) from nation group by x
select n_regionkey, unnest(array[1,2]) u from nation where n_nationkey < 2 order by u desc, n_regionkey
select * from rows from (generate_series(1,2), generate_series(1,3)) as r(a,b)
select count(*) over () from nation limit 1
select avg(c) from (select count(*) c from nation group by n_regionkey) x
select n_regionkey, count(*) from nation group by grouping sets ((n_regionkey), (), ())
select n_regionkey, count(*) from nation group by rollup(n_regionkey), rollup(n_regionkey)
select n_regionkey, count(*) from nation group by distinct rollup(n_regionkey), rollup(n_regionkey)
select nosuch from nation
select n_nam from nation
select n.n_nam from nation n
select nation.n_name from nation n
select x.n_name from nation
select n_name from nosuch
select n_name from nosuch.nation
select n_name from public.nosuch
select n_name from nation a, nation b
select * from nation, nation
select * from nation a join region a on true
select count(*) from nation where count(*) > 1
select n_name from nation where rank() over () > 1
select n_name from nation where generate_series(1,2) > 1
select n_name from nation group by count(*)
select count(count(*)) from nation
select sum(rank() over ()) from nation
select rank() over (order by rank() over ()) from nation
select n_name from nation having true
select n_name from nation group by 5
select n_name from nation group by 'x'
select n_name from nation order by 5
select n_name from nation order by 1.5
select n_name from nation order by -1
select n_nationkey as a, n_regionkey as a from nation order by a
select distinct n_name from nation order by n_nationkey
select distinct on (n_name) n_name from nation order by n_nationkey
select distinct on (n_name, n_regionkey) n_name from nation order by n_name, n_nationkey, n_regionkey
select 1 union select 1, 2
select 1 union select 'a'
select 1 union select now()
select 1 as x union select 2 order by x + 1
select 1 as x union select 2 order by y
select 1 as x union select 2 order by 3
select * 
select n_name from nation where n_name
select n_name from nation where 1
select n_name from nation limit 'a'
select n_name from nation limit n_nationkey
select n_name from nation limit count(*)
select n_name from nation where n_regionkey = (select r_regionkey, 1 from region)
select * from nation join region using (nosuch)
select * from nation a join nation b using (n_name, n_name)
select * from (select 1 as x, 2 as x) a join (select 1 as x) b using (x)
select x from (select 1 as x, 2 as x) a
select * from nation n(a,b,c,d,e,f)
with a(x,y) as (select 1) select * from a
with a as (select 1), a as (select 2) select * from a
with a as (select * from b), b as (select 1) select * from a
with recursive a as (select * from b), b as (select * from a) select * from a
with recursive t as (select 1 union all select * from t union all select 2) select * from t
with recursive t(n) as (select n + 1 from t) select * from t
with recursive t(n) as (select 1 union all select n from t t1 where n in (select n from t)) select * from t
with recursive t(n) as (select 1 union all select count(*)::int from t) select * from t
with recursive t(n) as (select 1 union all select n + 1.5 from t where n < 3) select * from t
with recursive t(n) as (select 1 union all select 1 from generate_series(1,2) left join t on true) select * from t
with recursive t(n) as (select 1 union all select n+1 from t order by 1) select * from t
with recursive t(n) as (select 1 union all select n+1 from t limit 3) select * from t
with recursive t(n) as (select * from t union all select 1) select * from t
with recursive t(n) as (select 1 union all (select n+1 from t except select 2)) select * from t
with recursive t(n) as (select 1 union all (select 3 except select n+1 from t)) select * from t
select x from generate_series(1,2) x, (select x) y
select * from (select n_name from nation) x, lateral (select nosuch.n_name) y
select * from nation a right join lateral (select a.n_name) b on true
select * from nation a, region b join nation c on a.n_nationkey = c.n_nationkey
select sum(n_nationkey) from nation join region on sum(n_nationkey) > 1
select grouping(n_name) from nation
select grouping(n_name) from nation group by n_regionkey
select (select n_name) from nation group by n_regionkey
select n_regionkey from nation group by n_regionkey order by n_name
select *, count(*) from nation
select n_name from nation window w as (order by n_name), w as (order by 1)
select sum(1) over w from nation
select sum(1) over (w order by n_name) from nation window w as (order by n_name)
select sum(1) over (w partition by n_name) from nation window w as (order by n_name)
select sum(1) over (w) from nation window w as (order by n_name rows unbounded preceding)
select sum(n_nationkey) over (rows between unbounded following and current row) from nation
values (1,2), (3)
values (count(*))
values (generate_series(1,2))
select * from (values (1,2)) t(a,b,c)
select case when true then generate_series(1,2) end
select coalesce(generate_series(1,2), 1)
select count(generate_series(1,2))
select * from generate_series(1, generate_series(1,2))
select * from count(*)
select a.b.c.d
select nation.nosuch.x from nation
select public.nation.nosuch from nation
select other.nation.n_name from nation
select n_name from nation n, lateral (select n.n_nosuch) x
select (n).n_name from nation n limit 1
select (n.n_name).x from nation n
select (nation).* from nation where n_nationkey = 1
select row_number() from nation
select upper(distinct n_name) from nation
select lower(n_name) over () from nation
select sum(distinct n_nationkey) over () from nation
select n_regionkey, n_name from nation group by n_regionkey, n_name || 'x'
select n_name || 'x' from nation group by n_name || 'x'
select n_name from nation group by n_name || 'x'
select exists(select 1, 2)
select array(select 1, 2)
select 1 in (select 1, 2)
select (1,2) in (select 1)
select 1 from nation order by n_name using <
select all_x from nation
select count(*) from nation group by n_name having n_regionkey = 1
select fetch from nation
select 1 fetch first 1 rows with ties
select 1 limit 1 limit 2
select 1 limit 1, 2
select * from (select 1)
select * from (values (1))
select distinct on (3) n_name from nation
select n_nationkey k from nation group by k having k > 20 order by k
select $1 + 1 from nation limit $2
select r_name from region r order by r
select count(distinct n) from nation n
select * from asia
select name, n_nationkey + 1 from asia a
select * from asia_count
select nosuch from asia
select last, n from asia_count where n > $1
select s_name, s_acctbal, c_phone from supplier, customer
select * from lineitem
select * from orders
select s_name from (select s_name from supplier) x
select x.a from (select s_acctbal from supplier union all select c_acctbal from customer) x(a)
select s_name from supplier union select c_mktsegment from customer
select s_acctbal from supplier union select 1.5
select r_name from region union select p_type from part
select r_name from region union select 'x'
with c as (select s_acctbal a from supplier) select a from c
select a.s_acctbal from supplier a left join supplier b on true
select s_nationkey from supplier join nation on n_nationkey = s_nationkey group by s_nationkey
select max(s_acctbal), s_name from supplier group by s_name
select distinct s_name from supplier
select distinct on (s_name) s_name, s_acctbal from supplier
select s_name from supplier order by s_acctbal limit 1
select (select s_name from supplier limit 1)
select "Mixed", "select" from odd
select mixed from odd
select "mixed" from odd
select Mixed from odd
select o.dup, o.* from odd o
select a.dup, b.dup from odd a, odd b
select dup from odd a, odd b
select dup from odd a join odd b using (dup)
select * from odd a join odd b using (dup)
select * from odd a natural join odd b
select * from odd a left join odd b using ("Mixed", dup)
select * from odd a full join odd b using (dup)
select a.dup, dup from odd a full join odd b using (dup)
select j from odd group by j
select distinct j from odd
select j from odd order by j
select j from odd union select j from odd
select j from odd union all select j from odd
select count(distinct j) from odd
select dup from odd order by j
select $1
select $1, $2
select $1 = 1
select $1::date
select n_name from nation where n_nationkey = $1 and n_name like $2
select n_name from nation limit $1 offset $2
select * from (values ($1, 1), (2, $2)) t(a, b)
select $1 union select 1
select coalesce($1, n_name) from nation
select case when $1 then $2 else 3 end
select n_name from nation where n_nationkey in ($1, $2)
select n_name from nation where n_nationkey = any($1)
select $2 + 1
select $1 + $1
select $1 || 'x'
select sum(n_nationkey) filter (where n_name = $1) from nation
select n_name from nation order by $1
select $1 from nation group by $1
select count($1) from nation
select generate_series(1, $1)
select * from generate_series(1, $1)
select * from unnest($1::int[])
select * from unnest($1)
select a from (select $1 as a) x
select a + 1 from (select $1 as a) x
select null
select null as a union select null
select a + 1 from (select null as a) x
select a || 'x' from (select 'y' as a) x
select a from (values (null), (1)) x(a)
select array(select n_name from nation)
select array(select null)
select n.n from nation n
select (n).n_name, (n).n_regionkey from nation n
select (n).nosuch from nation n  -- own
select count(n) from nation n
select n_name as nation from nation group by nation
select n_name as x, n_regionkey as x from nation group by x
select n_nationkey as n_name from nation order by n_name
select n_nationkey as n_name from nation group by n_name
select n_nationkey as n_name from nation order by upper(n_name)
select -n_nationkey as n from nation order by -n_nationkey
select n_name from nation group by n_name order by count(*)
select n_name from nation order by count(*)
select n_name, sum(n_nationkey) over (partition by n_regionkey order by n_name) from nation
select sum(sum(n_nationkey)) over () from nation
select sum(n_nationkey) over (), count(*) from nation
select sum(sum(n_nationkey)) over (partition by n_regionkey) from nation group by n_regionkey
select rank() over (order by n_name) + 1 as r from nation order by r
select n_name from nation where n_nationkey = (select max(n_nationkey) from nation n2 where n2.n_regionkey = nation.n_regionkey)
select (select n_name from nation where n_regionkey = r_regionkey limit 1) from region
select (select max(r_name)) from region
select (select max(r_name) from nation) from region
select (select max(r_name) from nation), r_comment from region
select (select count(*) from nation where n_regionkey = max(r_regionkey)) from region
select r_comment, (select count(*) from nation where n_regionkey = max(r_regionkey)) from region
select r_name from region where (select max(n_nationkey + r_regionkey) from nation) > 3
select r_name from region where (select max(r_regionkey) from nation) > 3
select (select grouping(r_name)) from region group by r_name
select 1 from region having (select max(r_regionkey) from nation) > 1
select sum(n_nationkey + (select max(r_regionkey) from region)) from nation
select sum((select max(n_nationkey))) from nation
select (select sum(n_nationkey + max(r_regionkey)) from nation) from region
select * from nation, lateral (select n_name || 'x' as y) z
select * from nation left join lateral (select n_name as y) z on true
select * from nation, lateral (select * from region where r_regionkey = n_regionkey) r
select * from nation full join lateral (select n_name as y) z on true
select * from lateral (select n_name) z, nation
select * from (nation cross join lateral (select n_name as y) z)
select * from nation, unnest(array[n_nationkey, n_regionkey]) u
select u, n from nation, unnest(array[n_nationkey, n_regionkey]) with ordinality as t(u, n)
select * from nation n join (region r join supplier s on s_nationkey = r_regionkey) on n_nationkey = r_regionkey
select * from nation n join (region r join supplier s on s_nationkey = n_nationkey) on n_nationkey = r_regionkey
select r.r_name from (nation n join region r on true) j
select j.r_name from (nation n join region r on true) j
select x.n_nationkey from nation a join nation b using (n_nationkey) as x
select x.n_name from nation a join nation b using (n_nationkey) as x
select * from nation a join nation b using (n_nationkey) as a
select * from nation as n(a, b)
select n_nationkey from nation as n(a, b)
select * from (select 1, 2) as t(a)
select * from (select 1, 2) as t(a, b, c)
select * from generate_series(1, 2) as t(a, b)
select generate_series from generate_series(1, 2)
select g, g.g, g.* from generate_series(1, 2) g
select upper from upper('x')
select * from upper('x') as u
select * from current_user
select current_user from current_user
select * from cast(1 as text)
select * from coalesce(1, 2)
select * from rows from (generate_series(1, 2), upper('x')) as t
select * from nosuchfunction(1)
with t as (select 1 as a) select * from t, t as u
with t as (select 1 as a) select t.a from t as u
with t as (select 1 as a) select * from public.t
with nation as (select 1 as a) select * from nation
with t(a) as (values (1), (2)) select a, count(*) from t group by a
with t as (select 1), u as (select * from t) select * from u
with t as (select n_name from nation) select n_name from t
with t as (select nosuch from nation) select 1
with recursive t(n) as (select 1 union all select n + 1 from t where n < (select count(*) from nation)) select n from t
with recursive t(n, path) as (select 1, array[1] union all select n + 1, path || n from t where n < 3) select * from t
with recursive t as (select n_nationkey k, n_name from nation where n_nationkey = 1 union all select n.n_nationkey, n.n_name from t join nation n on n.n_nationkey = t.k + 1) select * from t
with recursive t(n) as (select 1 union select n + 1 from t where n < 10), u as (select sum(n) s from t) select * from u, t
with recursive u as (select * from t), t(n) as (select 1 union all select n + 1 from t where n < 3) select * from u
with recursive t(n) as (select 'a' union all select n || 'b' from t where length(n) < 3) select n from t
with recursive t(n) as (select 'a'::varchar(3) union all select n || 'b' from t where length(n) < 3) select n from t
with recursive t(n) as (select null union all select n from t) select n from t
with recursive t(n) as (select 1.5 union all select n + 1 from t where n < 5) select n from t
with recursive t(n) as (select 1, 2 union all select n from t) select n from t
with recursive t(a, b, c) as (select 1, 2 union all select a, b from t) select n from t
with recursive t(n) as (select 1 union all select max(n) over () from t where n < 3) select n from t
with recursive t(n) as (select 1 union all select n + 1 from (select n from t) x where n < 3) select n from t
with recursive t(n) as (select 1 union all select n + 1 from t where exists (select 1 from t)) select n from t
with recursive t(n) as (select 1 union all select n from nation left join t on n = n_nationkey) select n from t
with recursive t(n) as (select 1 union all select n from t left join nation on n = n_nationkey where n < 2) select n from t
with recursive t(n) as (select 1 union all select n + 1 from t, nation where n < 2 group by n) select n from t
with recursive t(n) as ((select 1 union all select 2) union all select n + 1 from t where n < 5) select n from t
with recursive t(n) as (select 1 union all (select n + 1 from t where n < 5 union all select 7 from t)) select n from t
with recursive t(n) as (select 1 intersect select n from t) select n from t
select 1 union all select 2 except select 3 intersect select 4
(select 1 as a, 2 as b) union (select 3, 4) order by b, a
select 1 as a union select 2 order by A
select 1 as a, 2 as a union select 2, 3 order by a
select n_name from nation union select n_name from nation order by nation.n_name
select 1 union (select 2 order by nosuch)
select 'a' union select 1.5 union select 2
select 1 union select 'a' union select 2
select array[1] union select array['a']
select null union select null union select 1
select '1' union select '2' order by 1
values (1, 'a'), ('2', null)
values (1), ('x')
values (1), (true)
values ($1), ($2)
values (1) order by column1 + 1
values (1, 2) order by column3
values (n_name)
select * from (values (1, 2), (3)) t
select * from nation where (n_nationkey, n_regionkey) in (values (1, 2))
select * from nation where (n_nationkey, n_name) = (1, 'x')
select * from nation where n_nationkey
select * from nation where null
select * from nation where 'true'
select * from nation where 'maybe'
select * from nation where $1
select * from nation having 1
select n_name from nation group by n_regionkey, 1
select n_regionkey from nation group by 1 having n_name = 'x'
select n_regionkey + 1 from nation group by n_regionkey
select n_regionkey + 1 from nation group by n_regionkey + 1
select n_regionkey + 2 from nation group by n_regionkey + 1
select n.n_regionkey from nation n group by n_regionkey
select public.nation.n_regionkey from nation group by nation.n_regionkey
select n.* from nation n group by n.n_nationkey, n.n_name, n.n_regionkey, n.n_comment
select n.* from nation n group by n.n_nationkey
select count(*) from nation n group by n
select n_regionkey, grouping(n_regionkey), grouping(n_regionkey, n_name) from nation group by rollup(n_regionkey, n_name)
select grouping(n_regionkey + 1) from nation group by n_regionkey
select n_name from nation group by rollup(n_name), cube(n_regionkey)
select n_comment from nation group by rollup(n_name)
select 1 from nation group by grouping sets ((1, 2))
select n_name, n_regionkey from nation group by grouping sets ((1, 2), 1)
select sum(n_nationkey) as s from nation group by s
select sum(n_nationkey) as s from nation having s > 1
select n_nationkey as k from nation where k = 1
select n_name from nation order by nation
select n_name from nation order by 'x'
select n_name from nation order by null
select n_name from nation order by 1, 1
select n_name from nation order by 0
select n_name from nation order by 3000000000
select n_name from nation limit -1
select n_name from nation limit 1.5
select n_name from nation limit '3'
select n_name from nation limit true
select n_name from nation limit (select 1)
select n_name from nation offset n_nationkey
select r_name, (select n_name from nation limit r_regionkey) from region
select unnest(array[1, 2]), unnest(array['a']) from nation
select unnest(array[1, 2]) + unnest(array[1]) as s
select sum(unnest(array[1, 2]))
select unnest(array[sum(n_nationkey)]) from nation
select unnest(array[1, 2]) over () from nation
select n_name from nation where unnest(array[true])
select n_name from nation order by unnest(array[1, 2])
select n_name from nation group by unnest(array[1, 2])
select n_name from nation limit unnest(array[1, 2])
select case when unnest(array[true]) then 1 end
select coalesce(unnest(array[1, null]), 0)
select * from nation join unnest(array[1]) u on unnest(array[true])
select count(*) from nation join region on count(*) = 1
select 1 from nation join region on rank() over () = 1
select 1 from nation group by rank() over ()
select 1 from nation having rank() over () = 1
select rank() over (partition by sum(n_nationkey)) from nation
select count(*) filter (where count(*) > 1) from nation
select count(*) filter (where n_nationkey) from nation
select sum(n_nationkey order by sum(n_nationkey)) from nation
select max(rank() over ()) from nation
select nation.n_name from nation as nation
select other.nation.n_name from public.nation
select public.nation.n_name from nation n
select public.n.n_name from nation n
select nosuchdb.public.nation.n_name from nation
select * from nosuchdb.public.nation
select * from pg_temp.nation
select nation.* from nation n
select nosuch.* from nation
select public.nation.* from nation
select n_nationke from nation
select nation.n_nationke from nation
select natio.n_nationkey from nation
select n_key from nation
select c_acctbl from customer, supplier
select acctbal from customer, supplier
select x from nation
select n_name, from nation
select "N_NAME" from nation
select sum(n_nam) from nation
select 1 from nation where nope = 1 and n_name = 2
select n_name from nation where n_name = 2
select n_name from nation where n_name > n_nationkey

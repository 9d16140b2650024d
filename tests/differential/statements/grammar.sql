select
select 1 1
select 1,
select ,1
select 'a' 'b'
select 'a'\n'b'
select 'abc
select "abc
select $$abc
select $x$a$$b$x$
select E'\u00zz'
select E'\x41\101'
select U&'\0041'
select U&'\00'
select U&"d\0061t" from (select 1 as dat) x
select U&'d!0061' uescape '!'
select U&'d!0061' uescape '+'
select 1a
select 1.5e
select 1.5e+
select 1..2
select .5, 5., 1e5, 1.e5
select 0x1
select 1_000
select $1a
select @
select a b c from t
select a as b c
select a as select
select a select
select a year
select a as year
select a from
select * from where
select * from t where
select * from t group
select * from t group by
select * from t order by
select * from t limit
select * from t offset
select 1 +
select + 1
select - - 1
select --1\n 2
select 1 = 2 = 3
select 1 < 2 < 3
select 1 <> 2 = 3
select 1 between 2 and 3 between 4 and 5
select 1 in (1) in (true)
select 1 is null is null
select 1 is distinct from 2 is distinct from 3
select 'a' like 'b' like 'c'
select 'a' like 'b' escape 'c' like 'd'
select not not true
select 1 = not true
select not 1 = 2
select -2 ^ 2
select 2 ^ -2
select 1 - -1
select 1 @ 2
select 1 ** 2
select 1 => 2
select 1 := 2
select (1
select (1))
select ()
select row()
select row(1)
select (1,)
select (1,2).f1
select (row(1,2)).f1
select array[]
select array[]::int[]
select array[[1,2],[3,4]]
select array[1,[2]]
select array[[1],2]
select array(1)
select '{1,2}'::int[1]
select '{1,2}'::int[][]
select 1::int array
select 1::int array[3]
select 1::foo.bar
select 1::"char"
select 1::double
select 1::double precision
select 1::character varying(3)
select 1::national character varying(3)
select 1::char(3)
select 1::nchar
select 1::bit varying(3)
select 1::numeric(3,2)
select 1::numeric(3,2,1)
select 1::float(3)
select 1::float(99)
select '1'::time(3) with time zone
select '1'::timestamp with time zone
select '1'::timestamp without time zone
select '1'::timestamp with zone
select '1'::interval year to month
select '1'::interval second(3)
select '1'::interval(3)
select '1'::interval day to year
select interval '1' day to second(2)
select interval '1' month to year
select interval(3) '1'
select interval 1
select date '2020-01-01'
select timestamp(3) '2020-01-01 00:00:00'
select int '5'
select int4 '5'
select pg_catalog.int4 '5'
select "int4" '5'
select varchar(3) 'abc'
select double precision '5'
select setof 1
select cast(1 as int)
select cast(1 int)
select cast(1 as)
select extract(year from now())
select extract('year' from now())
select extract(foo from now())
select extract(year now())
select position('a' in 'b')
select position('a', 'b')
select substring('abc' from 1 for 2)
select substring('abc' for 2 from 1)
select substring('abc' for 2)
select substring('abc' from 1 from 2)
select substring('abc', 1, 2)
select substring('abc' similar 'a' escape 'b')
select overlay('abc' placing 'x' from 1 for 2)
select overlay('abc', 'x', 1, 2)
select overlay('abc' placing 'x')
select trim('a')
select trim(both from 'a')
select trim(leading 'a' from 'b')
select trim('a' from 'b')
select trim(from 'b')
select trim('a', 'b')
select coalesce()
select coalesce(1)
select nullif(1)
select nullif(1,2,3)
select greatest()
select current_date
select current_date()
select current_timestamp(3)
select current_timestamp()
select current_timestamp(3,4)
select localtime(0)
select current_user, user, session_user, current_role, current_catalog, current_schema
select current_schema()
select case end
select case when 1 then 2
select case when true then 1 else 2 end
select case 1 when 1 then 2 end
select count(*)
select count(* )
select count(*, 1)
select count(distinct)
select count(distinct *)
select count(all 1)
select f(1, variadic array[1])
select f(variadic array[1], 1)
select f(a => 1, b := 2)
select count(1 order by 1)
select count(distinct 1 order by 1)
select percentile_cont(0.5) within group (order by 1)
select percentile_cont(distinct 0.5) within group (order by 1)
select count(1 order by 1) within group (order by 1)
select count(1) filter (where true)
select count(1) filter (true)
select count(1) over
select count(1) over ()
select count(1) over w
select count(1) over (w)
select count(1) over (partition)
select count(1) over (partition by 1 order by 1 rows 1 preceding)
select count(1) over (rows between 1 preceding and 2 following exclude ties)
select count(1) over (rows between unbounded following and current row)
select count(1) over (rows between current row and 1 preceding)
select count(1) over (rows between current row and unbounded preceding)
select count(1) over (rows between 1 following and current row)
select count(1) over (rows between 1 following and 1 preceding)
select count(1) over (rows 1 following)
select count(1) over (rows unbounded following)
select count(1) over (range between unbounded preceding and unbounded following exclude no others)
select count(1) over (rows between 1 and 2)
select 1 from generate_series(1,2) with ordinality
select 1 from rows from (generate_series(1,2), generate_series(1,3)) with ordinality as t(a,b,c)
select 1 from rows from generate_series(1,2)
select 1 from lateral (select 1) x
select 1 from lateral pg_class
select 1 from (select 1)
select 1 from (values (1))
select 1 from (select 1) x y
select 1 from ((select 1)) x
select 1 from ((select 1) x)
select 1 from (pg_class)
select 1 from (pg_class join pg_type on true)
select 1 from (pg_class a join pg_type b on true) c
select 1 from (pg_class, pg_type)
select 1 from ((select 1) a join (select 2) b on true)
select 1 from (((select 1) a join (select 2) b on true))
select 1 from ((select 1 union select 2) union select 3) x
select 1 from pg_class a join pg_type b
select 1 from pg_class a join pg_type b on
select 1 from pg_class a join pg_type b using
select 1 from pg_class a join pg_type b using (oid) as x
select 1 from pg_class a join pg_type b using (oid, )
select 1 from pg_class a cross join pg_type b on true
select 1 from pg_class a natural join pg_type b on true
select 1 from pg_class a natural left outer join pg_type b
select 1 from pg_class a left inner join pg_type b on true
select 1 from pg_class a inner outer join pg_type b on true
select 1 from pg_class a full outer join pg_type b on true
select 1 from pg_class a join pg_type b join pg_proc c on true on true
select 1 from pg_class a join pg_type b join pg_proc c on true
select 1 from pg_class a left pg_type
select 1 from only pg_class
select 1 from only (pg_class)
select 1 from pg_class *
select 1 from pg_class as a(b, c)
select 1 from pg_class a()
select 1 from pg_catalog.pg_class
select 1 from a.b.c.d
select 1 from select
select 1 from user
select 1 from current_date
select 1 group by ()
select 1 group by rollup (1)
select 1 group by rollup ()
select 1 group by cube (1, (2, 3))
select 1 group by grouping sets ((1), (), (1, 2))
select 1 group by grouping sets (rollup(1), cube(1))
select 1 group by distinct 1
select 1 group by all 1
select 1 having true
select 1 window w as ()
select 1 window w
select 1 union
select 1 union all select 2
select 1 union distinct select 2
select 1 union select 2 intersect select 3 except select 4
(select 1)
((select 1))
(select 1) union (select 2)
(select 1 limit 1) limit 1
(select 1 order by 1) order by 1
(select 1 limit 1) offset 1
(select 1) limit 1
((select 1) limit 1)
select 1 order by 1 union select 2
select 1 limit 1 offset 2
select 1 offset 2 limit 1
select 1 limit all
select 1 limit 1, 2
select 1 limit 1 + 1
select 1 fetch first row only
select 1 fetch next 5 rows only
select 1 fetch first 1+1 rows only
select 1 fetch first (1+1) rows only
select 1 fetch first 5 percent rows only
select 1 order by 1 fetch first 2 rows with ties
select 1 fetch first 2 rows with ties
select 1 offset 2 rows
select 1 offset 2 row fetch first 1 row only
select 1 order by 1 asc nulls first, 2 desc nulls last
select 1 order by 1 nulls
select 1 order by 1 using <
select distinct 1
select distinct on (1) 1
select distinct on 1
select all 1
select distinct
values (1), (2)
values
values ()
values (1) order by 1 limit 1
values (1) union values (2)
table pg_class
table pg_class order by 1
table
with a as (select 1) select * from a
with a as materialized (select 1) select * from a
with a as not materialized (select 1) select * from a
with recursive a(b) as (select 1) select * from a
with a select 1
with a as (select 1), select 1
with a as select 1 select 1
with a as (select 1) (select 1)
with a as (select 1) (with b as (select 2) select 1)
with a as (select 1) values (1)
with a as (select 1) table a
select (with a as (select 1) select * from a)
select exists(select 1)
select exists(1)
select 1 in (select 1)
select 1 in ()
select 1 in 1
select 1 = any(array[1])
select 1 = any(select 1)
select 1 = any((select array[1]))
select 1 = any array[1]
select 1 < some (select 1)
select 1 operator(pg_catalog.+) 2
select 1 operator(+) 2
select operator(pg_catalog.-) 2
select 1 operator(pg_catalog.=) any(array[1])
select 'a' like any (array['a'])
select 'a' not like all (array['a'])
select 'a' similar to 'b'
select 'a' not similar to 'b' escape 'c'
select 'a' ilike 'b'
select 'a' not between 'b' and 'c'
select 1 between symmetric 1 and 2
select 1 between asymmetric 1 and 2
select 1 between 1 and 2 and true
select 1 between 1 or 2 and 3
select 'a' collate "C"
select 'a' collate pg_catalog."C"
select now() at time zone 'utc' at time zone 'utc'
select now() at time
select (1,2) overlaps (3,4)
select (date '2020-01-01', date '2020-01-02') overlaps (date '2020-01-01', date '2020-01-02')
select row(1,2) overlaps row(1,2,3)
select 1 isnull
select 1 notnull
select 1 is not null
select 1 is unknown
select 1 is true
select 1 is 5
select 1 is not distinct from 2
select 1 is json
select (select 1)
select ((select 1))
select ((select 1) + 1)
select (((select 1) + 1))
select (select 1) + (select 2)
select (select 1).x
select (array[1])[1]
select array[1][1]
select (array[1])[1:2]
select (array[1])[:]
select (array[1])[1:]
select x[1] from (select array[1] x) y
select f(1)[1]
select x.y[1].z from t x
select t.* from pg_class t
select t.*, * from pg_class t
select t.* as x from pg_class t
select * as x from pg_class
select count(t.*) from pg_class t
select (t).* from pg_class t
select (t.*).oid from pg_class t
select interval from (select 1 as interval) x
select "select" from (select 1 as "select") x
select char from (select 1 as char) x
select values from (select 1 as values) x
select row from (select 1 as row) x
select left from (select 1 as left) x
select left('a', 1)
select values(1)
select char(1)
select int(1)
select row (1) from x
select right, join from x
select time, timestamp from (select 1 as time, 2 as timestamp) x
select timestamp(3) from x
select time.x from (select 1 as x) time
select coalesce.x from (select 1 as x) coalesce
select exists from (select 1 as exists) x
select position from (select 1 as position) x
select precision from (select 1 as "precision") x
select none from (select 1 as none) x
select binary from x
select freeze
select collation for ('a')
select 1 as "", 2
select /* a /* b */ c */ 1
select /* a
select 1 -- abc
select 1;
;
select N'abc'
select 1 \ 2
select 1 # 2
select 1 <-> 2
select 1 <-2
select 1 <=-2
select 1 @-2
select 1*-2
select 1 !=-2
select 1!=2
select 1<>2
select a.b from c where d == e
select 1 where a = $1 and b = $2
select $0
select $99999999999
select 'a'::regclass::oid
select a::int::text from x
select -a::int from x
select - 1 :: int
select a is null and b or not c from x
select a || b || c + d from x
select a -> b ->> c = d from x
select a::int[3][4] from x
select 1 "a b"
select 1 as "a""b"
select x.* from x as x (a, b), y as "Y"
prepare a as select 1
prepare a (int,) as select 1
execute a(
deallocate
explain
explain analyze verbose select 1
explain verbose analyze select 1
explain (select 1)
create view as select 1
create view v select 1
drop view
drop view a,
create foo a
create
alter
show
show time zone
show a b
reset
discard
discard foo
foo
1
fetch 1
fetch next
declare c cursor for select 1
declare c cursor select 1
declare c scroll no scroll cursor for select 1
close
set x to 1
set x = 1
set x.y = 'a'
set x 1
set time zone
set session x to default
begin foo
begin isolation level foo
begin read only, isolation level serializable
begin read only isolation level serializable
begin read only,
commit foo
rollback to
rollback to savepoint a
savepoint
release a
start

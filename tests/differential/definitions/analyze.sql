create table nothing (a int, b text);
select reltuples from pg_class where relname = 'nothing';
analyze nothing;
select reltuples from pg_class where relname = 'nothing';
select count(*) from pg_stats where tablename = 'nothing';
create table measured (
    id int primary key, name text, short varchar(10), day date, at timestamp, ratio float8, small int2, big int8, yes bool, doc json,
    code char(3), missing text, price numeric(10, 2), long text
);
insert into measured
select i, 'name ' || (i * 7919 % 613), 'v' || (i % 9), date '2020-01-01' + (i * i) % 400,
    timestamp '2020-01-01' + (i % 37) * interval '1 hour', case when i % 10 = 0 then null else (i % 250) / 4.0 end,
    (i % 3)::int2, i::int8 * i, i % 4 = 0, '{}', 'c' || (i % 5), null, (i % 20) * 1.25, repeat('x', 2000) || i % 2
from generate_series(1, 2000) i;
analyze measured;
select reltuples from pg_class where relname = 'measured';
select attname, null_frac, n_distinct, inherited from pg_stats where tablename = 'measured' and attname <> 'long' order by attname;
select attname, avg_width from pg_stats where tablename = 'measured' and attname not in ('price', 'long') order by attname;
select attname, most_common_vals::text from pg_stats where tablename = 'measured' order by attname;
select attname, most_common_freqs from pg_stats where tablename = 'measured' order by attname;
select attname, histogram_bounds::text from pg_stats where tablename = 'measured' and attname <> 'doc' order by attname;
select schemaname, tablename, attname from pg_catalog.pg_stats where attname = 'id';
set default_statistics_target = 10;
analyze measured (id, name);
select attname, most_common_vals::text, histogram_bounds::text from pg_stats where tablename = 'measured' and attname in ('id', 'name', 'small') order by attname;
set default_statistics_target = 0;
set default_statistics_target = 10001;
reset default_statistics_target;
analyze measured (nope);
analyze measured (id, name, id);
analyze nowhere;
analyze nowhere.measured;
analyze (nonsense) measured;
analyze (verbose maybe) measured;
analyze measured (;
analyse measured;
analyze (skip_locked) measured;
vacuum measured (id);
vacuum analyze measured (id);
vacuum (analyze) measured (small), nothing;
create view seen as select * from measured;
analyze seen;
begin;
delete from measured where small = 1;
analyze measured (small);
select most_common_vals::text from pg_stats where attname = 'small';
rollback;
select most_common_vals::text from pg_stats where attname = 'small';
begin;
analyze measured;
savepoint before;
insert into measured (id, small) values (-1, 77);
rollback to before;
commit;
drop view seen;
alter table measured rename to renamed;
alter table renamed rename column small to smaller;
select tablename, attname, n_distinct from pg_stats where attname in ('id', 'smaller') order by attname;
alter table renamed alter column smaller type int8;
select count(*) from pg_stats where attname = 'smaller';
alter table renamed drop column big;
select count(*) from pg_stats where attname = 'big';
alter table renamed add column fresh int;
select count(*) from pg_stats where attname = 'fresh';
create temporary table passing as select i % 3 as x from generate_series(1, 30) i;
analyze passing;
select attname, n_distinct, most_common_vals::text from pg_stats where tablename = 'passing';
begin read only;
analyze renamed (id);
commit;
drop table passing;
drop table renamed;
select count(*) from pg_stats where tablename in ('renamed', 'passing', 'measured');
create table unending (d date, t timestamp, z timestamptz);
insert into unending values ('infinity', '-infinity', 'infinity'), ('-infinity', 'infinity', '2024-01-01 00:00:00+00');
analyze unending;
select attname, null_frac from pg_stats where tablename = 'unending' order by 1;

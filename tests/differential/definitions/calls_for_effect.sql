-- pg_sleep sleeps where nobody reads what it gives
create table t (id int);
set statement_timeout = 300;
select 1 from pg_sleep(60);
select count(*) from pg_sleep(60);
insert into t select 1 from pg_sleep(60);
prepare p as insert into t select $1 from pg_sleep(60);
execute p(1);
select 1 from (select pg_sleep(60)) s;
with s as (select pg_sleep(60)) select 1 from s;
select count(*) from (select pg_sleep(30) from generate_series(1, 3)) s;
select g from generate_series(1, 3) g left join pg_sleep(60) on true;
select 1 from (select 1 as a, pg_sleep(60) as b) s where a = 2;
select a from (select 1 as a, pg_sleep(60) as b) s limit 0;
set statement_timeout = 0;
select a from (select 1 as a, pg_sleep(0) as b) s;
select * from t

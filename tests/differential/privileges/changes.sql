create role ann login;
create role bob login;
create role cat login;
grant create on schema public to ann;
--- ann
create table t (a int primary key, b int, c int);
create table src (a int, b int);
insert into t values (1, 1, 1), (2, 2, 2);
insert into src values (1, 10), (3, 30);
--- bob
insert into t (a) values (5) on conflict do nothing;
insert into t (a) values (5) on conflict (a) do nothing;
--- ann
grant insert (a, b) on t to bob;
--- bob
insert into t (a) values (5) on conflict do nothing;
insert into t (a) values (5) on conflict (a) do nothing;
insert into t (a, b) values (5, 1) on conflict (a) do update set b = excluded.b;
--- ann
grant select (a) on t to bob;
--- bob
insert into t (a) values (5) on conflict (a) do nothing;
insert into t (a, b) values (5, 1) on conflict (a) do update set b = excluded.b;
--- ann
grant update (b) on t to bob;
--- bob
insert into t (a, b) values (5, 1) on conflict (a) do update set b = excluded.b;
insert into t (a, b) values (5, 1) on conflict (a) do update set b = excluded.c;
insert into t (a, b) values (5, 1) on conflict (a) do update set b = t.a;
insert into t (a, b) values (5, 1) on conflict (a) do update set b = t.b;
insert into t (a, b) values (5, 1) on conflict (a) do update set b = 1 where t.c = 1;
insert into t (a, b) values (6, 1) returning a;
insert into t (a, b) values (7, 1) returning a, b;
insert into t (a, b) values (7, 1) returning *;
insert into t (a, b) select a, b from src;
update t set b = src.b from src where src.a = t.a;
update t set b = 0 from (select 1 as x) q where t.a = q.x;
delete from t using src where t.a = src.a;
--- ann
grant select on src to bob;
--- bob
update t set b = src.b from src where src.a = t.a;
update t set b = src.b from src where src.a = t.a returning t.a;
update t set b = src.b from src where src.a = t.a returning t.*;
merge into t using src on t.a = src.a when matched then update set b = src.b;
merge into t using src on t.a = src.a when matched then update set c = src.b;
merge into t using src on t.a = src.a when matched then delete;
merge into t using src on t.a = src.a when not matched then insert (a, b) values (src.a + 10, src.b);
merge into t using src on t.a = src.a when not matched then insert values (src.a, src.b, 1);
merge into t using src on t.b = src.a when matched then update set b = src.b;
merge into src using t on t.a = src.a when matched then update set b = 1;
copy t (c) from stdin;
copy t (a, b) to stdout;
delete from t;
delete from t where a = 1;
--- ann
grant delete on t to bob;
--- bob
delete from t where a = 5;
delete from t where b = 5;
delete from t where a = 1 returning a;
delete from t where a = 2 returning b;
explain insert into t (c) values (1);
explain delete from src;
prepare p as select b from src order by 1;
execute p;
prepare q as insert into t (a) values ($1);
execute q(100);
--- ann
revoke select on src from bob;
revoke insert on t from bob;
--- bob
execute p;
execute q(101);
begin;
declare c cursor for select * from src;
rollback;
create temp table tt as select * from src;
create temp table tt as select a from t where a > 1000;
create temp view tv as select * from src;
select * from tv;
select * from tt;
drop view tv;
truncate tt;
create temp table other (like src);
create temp table other (like t);
create table refers (a int references t);
create temp table refers (a int references t);
select 1 from src where false;
select * from (select b from src) x;
select * from t where a in (select a from src);
values ((select max(b) from src));
table src;
select src from src;
select count(src) from src;
select count(*) from src;
select a from t union select a from src;
select pg_get_viewdef('t'::regclass);
--- ann
create view one as select a, b from t where b > 0;
create view two as select a from one;
grant select on two to bob;
--- bob
select * from two where a = 0;
select * from one;
--- ann
alter table t owner to ann;
--- postgres
alter view one owner to cat;
--- bob
select * from two where a = 0;
--- postgres
alter view two owner to cat;
--- bob
select * from two where a = 0;
--- ann
grant select on t to cat;
--- bob
select * from two where a = 0;
--- cat
create or replace view one as select a, b from t;
drop view one;
--- ann
create or replace view two as select a from t;
create materialized view mv as select a from t;
grant select on mv to bob;
--- bob
select count(*) > 0 from mv;
refresh materialized view mv;
drop materialized view mv;
create unique index on mv (a);
alter materialized view mv rename to vm;
--- ann
refresh materialized view mv;
create sequence s;
create table n (a serial, b int);
create table i (a int generated always as identity, b int);
grant insert (b), select on n to bob;
grant insert (b), select on i to bob;
--- bob
insert into n (b) values (1);
insert into i (b) values (1);
select nextval('n_a_seq');
--- ann
grant usage on n_a_seq to bob;
--- bob
insert into n (b) values (1);
insert into n (b) select 5;
select currval('n_a_seq');
select setval('n_a_seq', 1);
select lastval();
--- postgres
grant pg_read_all_data to bob;
--- bob
select * from src order by a;
select last_value from s;
update src set a = 1;
--- postgres
revoke pg_read_all_data from bob;
grant pg_write_all_data to bob;
--- bob
select * from src;
update src set a = 1;
update src set a = 1 where b = 2;
insert into src values (1, 2);
delete from src;
truncate src;
select setval('s', 10);
--- postgres
drop owned by ann cascade;
drop owned by bob, cat cascade;
drop role ann, bob, cat;
create role dot login;
create table t (a int, b int);
grant insert (a), select (a) on t to dot;
--- dot
with x as (insert into t (a) values (1) returning a) select * from x;
with x as (insert into t (a) values (1) returning b) select * from x;
with x as (delete from t returning a) select * from x;
begin;
lock table t in access share mode;
rollback;
begin;
lock table t;
rollback;
with x as (insert into t (a) values (2) returning a) insert into t (b) select a from x;
--- postgres
drop owned by dot;
drop role dot;
drop table t;

create role ann login;
create role bob login;
create role cat login;
create role crew;
create role quiet login noinherit;
grant crew to cat;
grant crew to quiet;
grant create, usage on schema public to ann;
--- ann
create table t (a int, b text, c int);
insert into t values (1, 'x', 10), (2, 'y', 20);
create view v as select a, b from t;
create sequence s;
select relname, relacl, pg_get_userbyid(relowner) from pg_class where relname in ('t', 'v', 's') order by 1;
--- bob
select * from t;
select a from t;
select count(*) from t;
select 1 from t;
select * from v;
insert into t values (3);
update t set a = 1;
delete from t;
truncate t;
select nextval('s');
select currval('s');
select setval('s', 3);
select * from s;
drop table t;
drop view v;
alter table t add column d int;
alter table t rename to u;
create index on t (a);
comment on table t is 'x';
comment on column t.a is 'x';
alter sequence s increment 2;
create table mine (a int);
create view w as select 1 as a;
grant select on t to bob;
revoke select on t from ann;
analyze t;
vacuum t;
--- ann
grant select on t to bob;
select relacl from pg_class where relname = 't';
--- bob
select * from t order by a;
select count(*) from t;
update t set a = 3 where a = 1;
delete from t where a = 1;
insert into t values (3);
grant select on t to cat;
select * from v;
copy t to stdout;
copy (select a from t) to stdout;
copy t from stdin;
copy t to '/tmp/x';
explain select * from v;
--- ann
grant update (b), insert (a, b) on t to bob;
select attname, attacl from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum;
--- bob
update t set b = 'z' where a = 1;
update t set b = 'w', a = 1;
update t set a = 1;
update t set b = default;
insert into t (a, b) values (3, 'q');
insert into t (a, c) values (3, 3);
insert into t values (3, 'r');
insert into t values (3, 'r', 4);
insert into t default values;
insert into t (a) select 5;
insert into t (a) values (9) returning a;
select * from t for update;
--- ann
revoke select on t from bob;
grant select (a) on t to bob;
--- bob
select a from t order by a;
select a, b from t;
select * from t;
select t from t;
select count(*) from t;
select 1 from t where b = 'x';
select a from t order by b;
select a from t group by a having max(c) > 1;
select x.a from t x join t y using (a);
select x.a from t x join t y using (c);
update t set b = 'w' where a = 1;
update t set b = 'w' where c = 1;
update t set b = b;
update t set b = a::text;
insert into t (a) values (9) returning a;
insert into t (a) values (9) returning b;
with q as (select a from t) select * from q where a > 100;
with q as (select b from t) select 1;
select (select max(c) from t);
select exists (select from t);
--- ann
grant all on t to crew;
select relacl from pg_class where relname = 't';
--- cat
select a from t where a = 1;
select * from v;
delete from t where a = 9;
truncate t;
--- quiet
select * from t;
set role crew;
select * from t;
reset role;
--- ann
revoke all on t from crew;
revoke all on t from bob;
select relacl from pg_class where relname = 't';
select attname, attacl from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum;
grant select on v to bob;
--- bob
select * from v;
select * from t;
--- ann
revoke select on t from ann;
select relacl from pg_class where relname = 't';
--- bob
select * from v;
--- ann
select * from t;
select * from v;
grant select on t to ann;
grant usage on sequence s to bob;
grant select on sequence s to cat;
grant update on s to crew;
grant insert on s to cat;
grant usage on t to cat;
grant insert on sequence s to cat;
grant select on sequence t to cat;
select relacl from pg_class where relname = 's';
--- bob
select nextval('s');
select currval('s');
select setval('s', 5);
select last_value from s;
--- cat
select last_value from s;
select setval('s', 7);
--- postgres
select * from t;
drop role bob;
drop role crew;
drop role ann;
revoke all on s from bob;
revoke all on v from bob;
drop role bob;
reassign owned by ann to cat;
select relname, pg_get_userbyid(relowner), relacl from pg_class where relname in ('t', 'v', 's') order by 1;
drop owned by ann;
drop role ann;
drop owned by crew;
drop owned by cat cascade;
drop role crew;
drop role cat;
drop role quiet;
select relname from pg_class where relname in ('t', 'v', 's');

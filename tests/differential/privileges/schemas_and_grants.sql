create role ann login;
create role bob login;
create role cat login;
create role "Odd Name" login;
create schema own authorization ann;
create schema authorization bob;
create schema if not exists authorization bob;
create schema s;
grant usage on schema s to ann;
select nspname, nspacl, pg_get_userbyid(nspowner) from pg_namespace where nspname in ('own', 'bob', 's', 'public', 'pg_catalog') order by 1;
create table s.t (a int primary key, b int);
create table s.hidden (a int);
--- ann
select * from s.t;
select * from own.t;
create table own.t (a int, b int);
create table s.u (a int);
create table own.r (a int references s.t);
insert into own.t values (1, 2);
--- bob
select * from own.t;
select * from own.nosuch;
select * from nosuch.t;
insert into own.t values (1);
drop table own.t;
drop schema own;
alter schema own rename to mine;
comment on schema own is 'x';
set search_path to own, public;
select * from t;
select 'own.t'::regclass;
create table t (a int);
reset search_path;
grant usage on schema own to cat;
grant usage on schema nosuch to cat;
grant usage on schema own to nosuch;
--- ann
grant select on own.t to bob;
--- bob
select * from own.t;
--- ann
grant usage on schema own to bob with grant option;
select nspacl from pg_namespace where nspname = 'own';
--- bob
select * from own.t;
grant usage, create on schema own to cat;
grant create on schema own to cat;
grant all on schema own to cat;
select nspacl from pg_namespace where nspname = 'own';
create table own.x (a int);
grant usage on schema own to ann with grant option;
--- cat
grant usage on schema own to "Odd Name";
select a from own.t;
--- ann
revoke usage on schema own from bob;
revoke grant option for usage on schema own from bob;
revoke grant option for usage on schema own from bob cascade;
select nspacl from pg_namespace where nspname = 'own';
grant all on schema own to public;
grant all on schema own to public with grant option;
grant usage on schema own to "Odd Name";
select nspacl from pg_namespace where nspname = 'own';
revoke all on schema own from public, "Odd Name";
grant select, insert on own.t to bob with grant option;
grant select on own.t to "Odd Name";
--- bob
grant select on own.t to cat with grant option;
grant insert, update on own.t to cat;
grant update on own.t to cat;
grant all on own.t to cat;
grant delete on own.t to cat;
grant select on own.t to bob with grant option;
select relacl from pg_class where relname = 't' and relnamespace = 'own'::regnamespace;
--- cat
grant select on own.t to bob with grant option;
grant select on own.t to public;
revoke insert on own.t from bob;
revoke all on own.t from ann;
--- ann
revoke select on own.t from bob;
revoke select on own.t from bob cascade;
select relacl from pg_class where relname = 't' and relnamespace = 'own'::regnamespace;
revoke all privileges on own.t from bob, cat, public cascade;
select relacl from pg_class where relname = 't' and relnamespace = 'own'::regnamespace;
grant nonsense on own.t to bob;
grant execute on own.t to bob;
grant create on own.t to bob;
grant usage on own.t to bob;
grant select (nosuch) on own.t to bob;
grant select (a), update (a, b) on own.t to bob;
grant delete (a) on own.t to bob;
grant select (a) on schema own to bob;
grant select on schema own to bob;
grant usage on own.nosuch to bob;
grant all (a) on own.t to bob with grant option;
grant all on all tables in schema own to cat;
grant all on all sequences in schema own to cat;
grant execute on all functions in schema own to cat;
grant all on all tables in schema nosuch to cat;
select attname, attacl from pg_attribute where attrelid = 'own.t'::regclass and attnum > 0 order by attnum;
select relname, relacl from pg_class where relnamespace = 'own'::regnamespace order by 1;
--- bob
grant select (a), insert (b) on own.t to cat;
grant select on own.t to cat;
--- ann
revoke all on own.t from bob;
revoke all on own.t from bob cascade;
select attname, attacl from pg_attribute where attrelid = 'own.t'::regclass and attnum > 0 order by attnum;
grant select on own.t to bob granted by bob;
grant select on own.t to bob granted by ann;
grant select on own.t to ann, bob, cat;
alter table own.t owner to bob;
alter table own.nosuch owner to bob;
alter table if exists own.nosuch owner to bob;
--- postgres
grant bob to ann;
--- ann
alter table own.t owner to bob;
grant create on schema own to bob;
alter table own.t owner to bob;
select relacl, pg_get_userbyid(relowner) from pg_class where oid = 'own.t'::regclass;
select * from own.t;
alter view own.t owner to ann;
alter table own.t owner to nosuch;
--- cat
alter table own.t owner to cat;
alter schema own owner to cat;
--- postgres
alter schema own owner to cat;
select nspacl, pg_get_userbyid(nspowner) from pg_namespace where nspname = 'own';
revoke bob from ann;
--- ann
alter default privileges grant select on tables to bob;
alter default privileges in schema own grant all on tables to cat;
alter default privileges in schema nosuch grant all on tables to cat;
alter default privileges for role bob grant all on tables to cat;
alter default privileges grant usage on sequences to public;
alter default privileges grant usage on schemas to cat;
alter default privileges in schema own grant usage on schemas to cat;
alter default privileges grant select on sequences to cat with grant option;
select pg_get_userbyid(defaclrole), defaclnamespace::regnamespace, defaclobjtype, defaclacl from pg_default_acl order by 1, 2, 3;
--- postgres
grant create, usage on schema own to ann;
--- ann
create table own.d (a serial);
create view own.dv as select 1 as a;
select relname, relacl from pg_class where relname in ('d', 'dv', 'd_a_seq') order by 1;
drop table own.d;
alter default privileges revoke select on tables from bob;
alter default privileges in schema own revoke all on tables from cat;
select pg_get_userbyid(defaclrole), defaclnamespace::regnamespace, defaclobjtype, defaclacl from pg_default_acl order by 1, 2, 3;
alter default privileges revoke all on tables from ann;
create table own.e (a int);
select relname, relacl from pg_class where relname in ('e') order by 1;
--- postgres
alter default privileges for role ann revoke usage on sequences from public;
alter default privileges for role ann revoke select on sequences from cat;
alter default privileges for role ann revoke usage on schemas from cat;
drop role cat;
alter default privileges for role ann grant all on tables to ann;
drop role ann;
drop role bob;
drop role "Odd Name";
drop owned by "Odd Name";
drop owned by ann, bob;
drop owned by cat;
drop owned by cat cascade;
drop table s.hidden;
drop schema s cascade;
drop role ann, bob, cat, "Odd Name";

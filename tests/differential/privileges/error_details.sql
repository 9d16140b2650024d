create role ann login;
create role bob login;
create role cat login;
grant create on schema public to ann;
--- ann
create table p (k int primary key, secret text unique, pair int, unique (k, secret));
create table t (a int primary key, b text not null, secret int default 42, c int, check (c < 100), check (secret > 0));
create unique index by_lower on t (lower(b));
create unique index by_two on t (c, secret);
create table child (of_secret text references p (secret), note text);
insert into p values (1, 'one', 1), (2, 'two', 2);
insert into t values (1, 'x', 7, 1), (2, 'y', 8, 2);
insert into child values ('one', 'n');
grant insert, update, delete on p, t, child to bob;
grant select (a, b) on t to bob;
grant select (k) on p to bob;
grant select (note) on child to bob;
grant insert (a, b) on t to cat;
create view v as select a, b, c from t where c < 50 with check option;
grant select, insert, update on v to bob;
--- bob
insert into t values (1, 'z', 9, 9);
insert into t values (3, 'X', 9, 9);
insert into t values (3, 'z', 7, 1);
insert into t (a, b) values (3, null);
insert into t (a, b, c) values (3, 'z', 100);
insert into t (a, c) values (3, 1);
insert into t (a, b, secret) values (3, 'z', -1);
update t set b = null where a = 1;
update t set c = 100 where a = 1;
update t set c = 200;
update t set secret = -1 where a = 1;
update t set a = 2 where a = 1;
insert into p values (1, 'three', 3);
insert into p values (3, 'one', 3);
insert into p values (1, 'one', 3);
insert into child values ('three', 'n');
insert into child (note) values ('n');
delete from p where k = 1;
update p set secret = 'new' where k = 1;
insert into v values (5, 'q', 60);
update v set c = 60 where a = 1;
update v set b = null where a = 1;
insert into t values (1, 'z', 9, 9) on conflict (a) do update set b = null;
insert into t values (7, null, 9, 9) on conflict (a) do nothing;
with changed as (insert into t (a, b, c) values (9, 'z', 100) returning a) select * from changed;
merge into t using (select 1 as one) s on t.a = s.one when matched then update set c = 100;
merge into t using (select 11 as one) s on t.a = s.one when not matched then insert (a, b, c) values (one, null, 1);
prepare changing as update t set c = $1 where a = 1;
execute changing (100);
--- cat
insert into t (a, b) values (1, 'z');
insert into t (a, b) values (3, null);
insert into t (a) values (3);
--- ann
grant select on t, p, child to bob;
--- bob
execute changing (100);
insert into t values (1, 'z', 9, 9);
insert into t (a, b, c) values (3, 'z', 100);
insert into child values ('three', 'n');
delete from p where k = 1;
--- ann
revoke select on t, p, child from bob;
alter table child alter constraint child_of_secret_fkey deferrable initially deferred;
alter table t add constraint later unique (secret) deferrable initially deferred;
--- bob
begin;
insert into child values ('three', 'n');
commit;
begin;
update t set secret = 7;
commit;
--- ann
begin;
insert into child values ('three', 'n');
commit;
begin;
update t set secret = 7;
commit;
--- postgres
drop owned by ann, bob, cat cascade;
drop role ann, bob, cat;

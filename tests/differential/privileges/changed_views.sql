create role ann login;
create role bob login;
create role carl login;
grant create on schema public to ann, bob;
--- ann
create table t (id int primary key, owner text, secret int);
insert into t values (1, 'a', 41), (2, 'b', 42), (3, 'a', 43);
create view v as select id as key, owner, secret + 1 as more from t where secret > 0;
--- bob
insert into v (key) values (9);
update v set owner = 'x';
delete from v;
--- ann
grant insert (key, owner), update (owner) on v to bob;
--- bob
insert into v (key, owner) values (10, 'bob');
insert into v values (11, 'bob');
insert into v (key) values (12) returning key;
insert into v (key, owner) values (10, 'bob') on conflict do nothing;
insert into v (key, owner) values (10, 'bob') on conflict (key) do nothing;
update v set owner = 'x';
update v set owner = 'x' where key = 1;
update v set key = 1;
update v set owner = owner || 'x';
update v set more = 1;
delete from v;
--- ann
grant select (key), delete on v to bob;
--- bob
update v set owner = 'y' where key = 1;
update v set owner = 'y' where more = 1;
update v set owner = 'y' where key = 1 returning key;
update v set owner = 'y' where key = 1 returning *;
update v set owner = 'y' where v is not null;
delete from v where key = 10;
delete from t;
insert into t values (4);
create view w as select key, owner from v where key < 100;
grant all on w to carl;
--- carl
insert into w values (20, 'carl');
update w set owner = 'carl' where key = 1;
select * from w;
delete from w where key = 20;
--- ann
revoke update on v from bob;
--- carl
update w set owner = 'carl' where key = 1;
--- ann
create view invoked with (security_invoker) as select id, owner from t;
grant all on invoked to bob;
--- bob
insert into invoked values (30, 'x');
update invoked set owner = 'z' where id = 1;
--- ann
grant insert (id, owner), select (id), update (owner) on t to bob;
--- bob
insert into invoked values (30, 'x');
update invoked set owner = 'z' where id = 1;
update invoked set owner = owner || 'z' where id = 1;
--- ann
create view guarded with (security_barrier) as select id, secret from t where owner = 'a';
grant all on guarded to bob;
update t set owner = 'a' where id in (1, 3);
--- bob
update guarded set secret = secret + 1 where 1 / (secret - 42) is not null returning id, secret;
delete from guarded using (values (3), (2)) x (k) where id = k and 1 / (secret - 100) is not null returning id;
--- ann
select * from t order by id;
drop view w;
--- postgres
drop owned by ann, bob cascade;
drop role ann, bob, carl;

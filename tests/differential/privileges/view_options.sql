create role ann login;
create role bob login;
grant create on schema public to ann;
--- ann
create table t (id int, owner text, secret int);
insert into t values (1, 'a', 41), (2, 'b', 42), (3, 'a', 43);
create view owned with (security_barrier) as select id, secret from t where owner = 'a';
create view invoked with (security_barrier, security_invoker) as select id, secret from t where owner = 'a';
create view over_invoked as select id from invoked;
grant select on owned, invoked, over_invoked to bob;
--- bob
select * from owned where 1 / (secret - 42) is not null order by id;
select * from owned where owned.secret::text::bool order by id;
select * from invoked;
select * from over_invoked order by id;
select count(*) from invoked;
alter view owned set (security_barrier = false);
--- ann
grant select (id, secret) on t to bob;
--- bob
select * from invoked;
--- ann
grant select (owner) on t to bob;
--- bob
select * from invoked where 1 / (secret - 42) is not null order by id;
--- ann
alter view invoked reset (security_invoker);
revoke select on t from bob;
revoke select (id, secret, owner) on t from bob;
--- bob
select * from invoked order by id;
--- postgres
drop owned by ann cascade;
drop role ann, bob;

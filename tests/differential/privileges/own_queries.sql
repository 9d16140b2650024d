create role dot login;
create role eve login;
grant create on schema public to dot;
create table base (a int);
insert into base values (1);
grant select on base to dot;
--- dot
create materialized view mv as select a from base;
select * from mv;
--- postgres
revoke select on base from dot;
--- dot
refresh materialized view mv;
select * from mv;
create materialized view mw as select a from base;
create table ct as select a from base;
create table ct as select a from base with no data;
--- postgres
refresh materialized view mv;
grant select on base to dot;
--- dot
refresh materialized view mv;
revoke all on mv from dot;
refresh materialized view mv;
--- eve
refresh materialized view mv;
alter table base add column b int;
--- dot
create table own (a int);
insert into own values (1);
revoke all on own from dot;
alter table own add column b int default 3;
alter table own add check (a > 0);
create unique index on own (a);
select * from own;
--- postgres
drop owned by dot;
drop table base;
drop role dot, eve;

create role u4 login;
grant create, usage on schema public to u4;
create table a6 (one int, two int, blue int);
grant select (one, two, blue), update (two) on a6 to u4;
--- u4
select 1 from a6;
--- postgres
alter table a6 drop column two;
--- u4
select * from a6;
select 1 from a6;
update a6 set two = 1;
--- postgres
revoke select (one, blue) on a6 from u4;
--- u4
select * from a6;
select 1 from a6;
select count(*) from a6;
--- postgres
alter table a6 add column two int;
--- u4
select two from a6;
--- postgres
grant select (two) on a6 to u4;
begin;
alter table a6 drop column two;
rollback;
--- u4
select two from a6;
--- postgres
select attname, attacl from pg_attribute where attrelid = 'a6'::regclass and attnum > 0 and not attisdropped order by 1;
alter table a6 drop column two;
revoke create, usage on schema public from u4;
drop role u4;
drop table a6;

create unlogged table u1 (a int primary key, b serial);
select relname, relpersistence from pg_class where relname like 'u1%' order by 1;
create unlogged table if not exists u1 (a int);
create unlogged table u2 as select 1 as a;
select relname, relpersistence from pg_class where relname = 'u2';
insert into u1 (a) values (1), (2);
alter table u1 alter column a type bigint;
select relpersistence from pg_class where relname = 'u1';
create table l1 (a int primary key);
create unlogged table u4 (a int references l1);
create table l2 (a bigint references u1);
create unlogged table u5 (a bigint references u1);
drop table u1, u2, u4, u5

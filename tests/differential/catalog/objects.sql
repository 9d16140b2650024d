create table t(a int primary key, b text);
insert into t values (1,'x'),(2,'y');
create schema s2;
create table s2.u(a int, b numeric(8,2) default 3);
create view v as select * from t;
grant insert, update on s2.u to public;
grant select (a) on t to public;

create role ann login;
create role bob login;
grant create on schema public to ann;
--- ann
create table t (a int, b int);
insert into t values (1, 2), (3, 4);
create view v as select a, xmin is not null as there from t;
grant select (a), insert (a), update (a), delete on t to bob;
grant select on v to bob;
--- bob
select a from t;
select tableoid > 0 from t;
select a from t where xmin is null;
select a from t order by tableoid;
select cmin, xmax from t;
select * from v;
insert into t (a) values (5) returning a;
insert into t (a) values (5) returning tableoid > 0;
update t set a = 6 where a = 5 returning tableoid > 0;
--- ann
grant select on t to bob;
--- bob
select tableoid > 0, xmin is null from t where a < 4;
update t set a = 6 where a = 5 returning tableoid > 0;
select tableoid > 0 from pg_class where relname = 't';

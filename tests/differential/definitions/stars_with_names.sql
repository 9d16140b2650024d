create table t (a int, b text);
insert into t values (1, 'x'), (2, 'y');
select t.* as r from t order by a;
select (t).* as r from t order by a;
select * as r from t;
select t as r from t order by a;
create table made as select t.* as r from t;
select * from made order by a

-- what FILTER leaves out is not computed
create table t(a int, b int);
insert into t values (1,2),(2,3),(0,5);
select (select count(x.b) filter (where t.a <> 0) from t x) from t order by 1;
select (select count(t.a) filter (where x.b > 0) from t x) from t order by 1;
select sum(10/a) filter (where a <> 0), sum(10/a) filter (where a <> 0 and b > 2) from t;
select sum(10/a) filter (where a > 5), count(10/a) filter (where a <> 0), avg(10.0/a) filter (where a <> 0) from t;
select string_agg((10/a)::text, ',' order by b) filter (where a <> 0), count(distinct 10/a) filter (where a <> 0) from t;
select array_agg(10/a order by 10/nullif(a,0)) filter (where a <> 0), json_agg(10/a) filter (where a <> 0) from t;
select stddev(10/a) filter (where a <> 0), max(10/a) filter (where a <> 0), bool_or(10/a > 5) filter (where a <> 0) from t;
select sum(10/a) filter (where a <> 0) over (order by b), b from t order by b;
select percentile_disc(0.5) within group (order by 10/a) filter (where a <> 0) from t;
select string_agg('x', ',' order by 10/a) filter (where a <> 0) from t;
select sum(10/a) filter (where b > 2) from t;
-- arrays between two
create table l(a int, b text[]);
insert into l values (1,'{a}'),(2,'{b,c}'),(0,null),(5,'{a,NULL}');
select * from l where array[a] > '{0}' and array[a] <= '{1}' order by a;
select * from l where b >= '{a}' and b < '{b}' order by a;
select * from l where b between '{a}' and '{b}' order by a;
select * from l where array[a] < '{2}' or not (array[a] <= '{2}') order by a;
-- modifiers whose scale is negative, or more than the precision
create table nm(e numeric(3,-6), f numeric(3,6));
insert into nm values (998500000, 0.0009994), (1499999, -0.0000005), (null, 0);
select * from nm order by e;
select x::numeric(3,-2), y::numeric(2,4), (i*10)::numeric(3,-3), x::text::numeric(3,-2) from (values (12345.678::numeric, 0.00123::numeric, 12345)) v(x,y,i);
select i::numeric(3,-2) from (values (123456)) v(i);

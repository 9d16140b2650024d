select a, b, count(*) from (values (1,2),(1,3)) v(a,b) group by grouping sets ((a),(b),(a,b)) order by 1,2;
select a as x, a as y, count(*) from (values (1,2),(1,3)) v(a,b) group by rollup(a) order by 1;
select a, a+0 as y, count(*) from (values (1,2),(1,3)) v(a,b) group by rollup(1,2) order by 1,2;
select a as x, a as y, count(*) from (values (1,2),(1,3)) v(a,b) group by 1, 2;
select 'x' as l, a, count(*) from (values (1,2),(1,3)) v(a,b) group by l, a;
select 'x' as l, a, count(*) from (values (1,2),(1,3)) v(a,b) group by rollup(a) order by 2;
select a, grouping(a), count(*) from (values (1,2),(1,3)) v(a,b) group by grouping sets ((a,a),()) order by 1;

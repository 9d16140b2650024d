select '{(1,2),(3,4);(5,6),(7,8)}'::box[];
select array['(1,2),(3,4)'::box, '(5,6),(7,8)', null];
select array['(1,2),(3,4)'::box, '(5,6),(7,8)', null]::text;
select '{(1,2),(3,4),(5,6),(7,8)}'::box[];
select '{(1,2),(3,4);}'::box[];
select '{"(1,2),(3,4)";(5,6),(7,8)}'::box[]::text;
select array['1,2'::point, '3,4']::text, array['1,2'::point, '3,4'], array['a;b', 'c,d'], array['a;b', 'c,d']::text;
create table bx (id int, b box[]);
insert into bx values (1, '{(1,2),(3,4);(5,6),(7,8)}'), (2, array['(1,2),(3,4)'::box]), (3, '{}'), (4, null);
select * from bx order by id;
select id, b::text from bx order by id;
select array_agg(x order by id) from (select id, unnest(b) from bx) v(id, x);
select typname, typdelim from pg_type where typname in ('box', 'point', '_box') order by 1

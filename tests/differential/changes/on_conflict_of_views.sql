create table uv (a text unique, b float);
create view uvv as select b, b+1 as c, a, '2.0'::text as two from uv;
insert into uvv (a, b) values ('xyxyxy', 1) on conflict (a) do update set b = uvv.b;
insert into uvv (a, b) values ('xyxyxy', 2) on conflict (a) do update set b = excluded.b;
insert into uvv (a, b) values ('xyxyxy', 3) on conflict (a) do update set b = excluded.b where excluded.c > 0;
insert into uvv (a, b) values ('xyxyxy', 3) on conflict (a) do update set b = uvv.b;
select * from uvv;

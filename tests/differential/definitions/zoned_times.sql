create table z (ti time);
insert into z values ('12:00'), ('23:59:59.5'), ('24:00'), (null);
set timezone = 'America/New_York';
select '12:00'::time::timetz;
select ti::timetz from z order by ti;
set timezone = 'Asia/Kolkata';
select ti::timetz, ti::timetz::text from z order by ti;
set timezone = 'UTC';
select '12:00'::time::timetz = '12:00+00'::timetz;
create table zz (x timetz);
insert into zz select ti from z;
select * from zz order by x

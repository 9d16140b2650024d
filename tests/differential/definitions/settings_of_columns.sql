create table n (id int, s text);
insert into n values (1, 'work_mem'), (2, 'TimeZone'), (3, 'foo.bar'), (4, null), (5, 'nothing');
set work_mem = '4MB';
select id, current_setting(s) from n where id in (1, 2, 4) order by id;
select current_setting(s) from n where id = 5;
select current_setting(s) from n where id = 3;
select id, current_setting(s, true) from n order by id;
set foo.bar = 'x y';
select id, current_setting(s) from n where id in (1, 3) order by id;
select id, current_setting(s, true) from n order by id;
select current_setting(upper(s)) from n where id = 3;
select current_setting(null::text)

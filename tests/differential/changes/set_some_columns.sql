create table p (tenant int, id int, primary key (tenant, id));
create table c (tenant int not null, id int primary key, parent int default 7, other int, constraint c_parent foreign key (tenant, parent) references p on delete set null (parent), constraint c_other foreign key (tenant, other) references p (tenant, id) on update set null on delete set default (other));
insert into p values (1, 1), (1, 2), (1, 3), (2, 7);
insert into c values (1, 1, 1, null), (1, 2, 2, 1), (1, 3, 2, 3), (2, 4, 7, 7);
delete from p where id = 2;
select * from c order by id;
delete from p where id = 1;
select * from c order by id;
update p set id = 33 where id = 3;
select * from c order by id;
delete from p where tenant = 2;
select * from c order by id;
select conname, confdeltype, confdelsetcols, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'c'::regclass and contype = 'f' order by 1;
create table bad (a int, b int, foreign key (a, b) references p on update set null (b));
create table bad (a int, b int, foreign key (a, b) references p on delete cascade (b));
create table bad (a int, b int, x int, foreign key (a, b) references p on delete set null (x));
create table bad (a int, b int, foreign key (a, b) references p on delete set null (y));
alter table c rename column parent to boss;
select pg_get_constraintdef(oid) from pg_constraint where conname = 'c_parent'

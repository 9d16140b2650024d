create table l (a int);
insert into l values (1), (2), (null);
insert into l values (7), (9);
insert into l values (5);
insert into l values (null);
select a from l where a in (1, null, 9) order by a;
select a from l where a not in (1, null) order by a;
select a from l where a not in (1, 5) order by a;
select a from l where not (a in (5, 9)) order by a;
select a from l where a in (3, 4) order by a;
select a from l where a in (null, null) order by a;
select a from l where a not in (5, 5, 5) order by a;
select a from l where a in (9, 5, 8, 1) order by a

create table b (i int, c text);
insert into b values (1, 'é '), (2, 'a\b'), (3, 'a\4001'), (4, 'a\\\'), (5, '\x0aFF');
select c::bytea from b where i in (1, 5) order by i;
select c::bytea from b where i = 2;
select c::bytea from b where i = 3;
select c::bytea from b where i = 4;
select c::bpchar::bytea from b where i = 2

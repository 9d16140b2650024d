create table s (s text, k varchar(3), v numeric, f float8, ts timestamp, d timestamptz, i interval, o time, b bit(6), x int);
insert into s values
    ('abcdef', 'abc', 1.2345, 1.5, '2024-01-02 03:04:05.678', '2024-01-02 03:04:05.678+00', '1 day 02:03:04.567', '03:04:05.678', '101010', 1),
    ('abcxyz', 'abc', 2.3456, 2.5, '2024-03-04 05:06:07.891', '2024-03-04 05:06:07.891+00', '3 days', '05:06:07.891', '111000', 2);
select count(*) from (values ('abcdef'), ('abcxyz')) t(s) where cast(s as varchar(3)) = 'abc';
select length(s::varchar(3)), s::varchar(3) || '!', replace(s::varchar(3), 'd', 'z'), upper(s::char(4)) from s order by x;
select count(*) from s a join s b on a.s::varchar(3) = b.k;
select case when x = 1 then s::varchar(2) else 'zz' end, coalesce(s::varchar(2), 'n'), nullif(s::varchar(3), 'abc') from s order by x;
select min(s::varchar(4)), max(s::varchar(4)), greatest(s::varchar(2), 'aa') from s group by s, k order by 1;
select s::varchar(3), count(*), s::varchar(3) || 'x' from s group by s::varchar(3);
select s::varchar(3) like 'abc', s::varchar(3) in ('abc', 'abd'), s::varchar(3) between 'abb' and 'abd' from s order by x;
select count(*) from s where s::char(3) = 'abc';
select ts::timestamp(0), coalesce(ts::timestamp(0), '2000-01-01'), age(ts::timestamp(0), '2024-01-01') from s order by x;
select coalesce(d::timestamptz(1), '2000-01-01'), d::timestamptz(0) - '2024-01-01'::timestamptz from s order by x;
select i::interval(0), coalesce(i::interval(1), '0'), i::interval day + '1 hour' from s order by x;
select o::time(1), coalesce(o::time(0), '00:00'), ts::date + o::time(0) from s order by x;
select v::numeric(5, 2), coalesce(v::numeric(5, 2), 0), v::numeric(5, 2) + 1, sum(v::numeric(5, 1)) over () from s order by x;
select b::bit(3), coalesce(b::bit(3), '000'), b::bit(3) || b'1', b::varbit(2) = b'10' from s order by x;
select array[s::varchar(2)], (array[s]::varchar(2)[])[1] || '!' from s order by x;
select distinct s::varchar(3) || '' from s;
select x from s order by s::varchar(3) || '', x desc;
prepare p as select $1::varchar(3) || '!', length($1::varchar(3));
execute p('abcdef');
create table u (tx text, id int primary key);
insert into u select s::varchar(3), x from s;
select tx, length(tx) from u order by id;
update u set tx = ('abcdefgh' || id)::varchar(4);
select tx, length(tx) from u order by id;
insert into u values (1, 1), (3, 3) on conflict (id) do update set tx = ('conflict' || excluded.tx)::varchar(5);
select * from u order by id;
merge into u using s on u.id = s.x when matched then update set tx = s.s::varchar(2);
select * from u order by id;
delete from u where (tx || 'zzz')::varchar(3) = 'abz' returning id, tx::varchar(1) || '.';
create table made as select s::varchar(3) as q, s::char(5) as c, s::varchar(3)::text as t from s;
select q, length(q), c, length(c), t, length(t) from made order by q, c;
create view cut as select s::varchar(3) || '-' as q from s;
select * from cut order by q

-- Functions within views spell and see names along the session's search path, not the view's.
create table t (id serial, v int default 5);
select column_name, column_default from information_schema.columns where table_name = 't' order by ordinal_position;
create schema s;
set search_path = s, public;
create view seen as select relname, pg_table_is_visible(oid) as is_visible, oid::regclass::text as spelled from pg_class where relname in ('t', 'w') and relkind = 'r';
create table s.w (id int);
select * from seen order by 1;
set search_path = public;
select * from s.seen order by 1;
select column_name, column_default from information_schema.columns where table_name = 't' order by ordinal_position;
set search_path = s;
select * from seen order by 1;
select column_name, column_default from information_schema.columns where table_name = 't' order by ordinal_position

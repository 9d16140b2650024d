select typname, pg_type_is_visible(oid) from pg_type where typname in ('cardinal_number','yes_or_no','int4','_yes_or_no') order by 1;
select 'information_schema.yes_or_no'::regtype, 'yes_or_no'::regtype;
create schema other; create type other.mood as enum ('a'); create domain other.dd as int;
select typname, pg_type_is_visible(oid) from pg_type where typname in ('mood','dd') order by 1;
set search_path = other;
select typname, pg_type_is_visible(oid) from pg_type where typname in ('mood','dd') order by 1;
set search_path = information_schema;
select typname, pg_type_is_visible(oid) from pg_type where typname in ('yes_or_no') order by 1;
drop schema other cascade;

select oid >= 16384 from pg_database where datname = current_database();
select has_database_privilege(current_user, oid, 'connect') from pg_database where datname = current_database();
begin;
prepare transaction 'x';
select 1;
prepare transaction 'y';
begin;
select 1/0;
prepare transaction 'z';
select 1;
set datestyle = 'PostgreSQL';
select date '2024-01-02', timestamp '2024-01-02 03:04:05';
show datestyle;
reset datestyle;
grant temp on database sluice to public;
select datacl is not null from pg_database where datname = current_database()

create table t (a int, b text, c int, j jsonb, p point);
create index i1 on t (a desc nulls last, b) include (c);
create index i2 on t using hash (a);
create index i3 on t (a nulls first, b desc);
create index i4 on t using gin (j);
create index i5 on t using brin (a);
create index i6 on t using gist (p);
select c.relname, n, property, pg_index_column_has_property(c.oid, n, property) from pg_class c, generate_series(-1, 4) n, unnest(array['asc', 'DESC', 'nulls_first', 'nulls_last', 'orderable', 'search_array', 'search_nulls', 'clusterable', 'nope', null]) property where relname ~ '^i[1-6]$' order by 1, 2, 3;
select c.relname, n, property, pg_index_column_has_property(c.oid, n, property) from pg_class c, generate_series(0, 4) n, unnest(array['returnable', 'distance_orderable']) property where relname ~ '^i[1-5]$' order by 1, 2, 3;
select c.relname, property, pg_index_has_property(c.oid, property) from pg_class c, unnest(array['clusterable', 'index_scan', 'Bitmap_Scan', 'backward_scan', 'asc', 'can_order']) property where relname ~ '^i[1-6]$' or relname = 't' order by 1, 2;
select amname, property, pg_indexam_has_property(a.oid, property) from pg_am a, unnest(array['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'CAN_INCLUDE', 'asc']) property order by 1, 2;
select pg_index_column_has_property('i1', 1, 'desc'), pg_index_has_property('i1'::regclass, 'clusterable'), pg_index_column_has_property('t', 1, 'asc'), pg_index_column_has_property(null, 1, 'asc')

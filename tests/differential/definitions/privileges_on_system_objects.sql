select has_language_privilege(99999, 'usage'), has_language_privilege(14, 'usage'), has_language_privilege('sql', 'usage');
select has_language_privilege('nothing', 'usage');
select has_function_privilege(99999, 'execute'), has_function_privilege(1598, 'execute');
select has_foreign_data_wrapper_privilege(99999, 'usage'), has_server_privilege(99999, 'usage'), has_tablespace_privilege(99999, 'create');
select has_foreign_data_wrapper_privilege('nothing', 'usage');
select has_server_privilege('nothing', 'usage');
select has_tablespace_privilege('nothing', 'create');
select has_tablespace_privilege('pg_default', 'create'), has_tablespace_privilege(1663, 'create');
select has_language_privilege(n, 'usage'), has_tablespace_privilege(n, 'create'), has_server_privilege(n, 'usage'), has_function_privilege(n, 'execute') from (values (14::oid), (1663), (99999)) v(n) order by n;
select has_language_privilege(current_user, n, 'usage') from (values (14::oid), (99999)) v(n) order by n

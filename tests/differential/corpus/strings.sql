select lower('AB'), upper('ab'), initcap('hello wORLD'), length('häß'), octet_length('häß'), char_length('');
select substring('hello' from 2 for 3), substring('hello', 2), substring('hello' from -1 for 4), substr('hello', 3, 10);
select left('hello', 2), left('hello', -2), right('hello', 2), right('hello', -2), left('x', 0);
select lpad('7', 3, '0'), rpad('ab', 5, 'xy'), lpad('hello', 2), ltrim('  x '), rtrim('xxyx', 'x'), btrim('xyhixy', 'xy'), trim(both 'x' from 'xxhixx');
select position('l' in 'hello'), strpos('hello', 'lo'), replace('banana', 'an', 'AN'), translate('12345', '143', 'ax'), reverse('abc'), repeat('ab', 3);
select split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), split_part('a', ',', 5), starts_with('hello', 'he');
select concat('a', null, 1, true), concat_ws('-', 'a', null, 'b'), 'a' || null, md5('abc'), ascii('A'), chr(233);
select 'hello' like 'h%o', 'hello' like 'H%', 'hello' ilike 'H%', 'a%b' like 'a\%b', 'a_b' like 'a!_b' escape '!', 'x' not like 'y';
select 'abc' similar to '(a|b)%', 'abc' ~ '^a.c$', 'abc' ~* 'B', 'abc' !~ 'x', 'abc' ~ 'a{2}';
select regexp_replace('foobar', 'o+', '0'), regexp_replace('aXbX', 'x', '-', 'gi'), regexp_replace('abc', '(b)', '[\1]'), regexp_match('foo123', '([a-z]+)([0-9]+)');
select overlay('Txxxxas' placing 'hom' from 2 for 4), quote_literal('it''s'), quote_ident('A b'), format('%s is %L', 'x', 'y'), to_hex(255), encode('hi'::bytea, 'hex');
select string_to_array('a,b,,c', ','), array_to_string(array['a', null, 'b'], ',', '*'), regexp_split_to_array('a1b22c', '[0-9]+');
select n_name, substring(n_name from 1 for 3) || '.' from nation where n_name like '%IA' order by n_name; -- ordered
select substring('x' from 1 for -1);
select chr(0);
select 'a' < 'B', 'a' > 'B', 'abc' < 'abd', '' < 'a', 'é' > 'z';
select length(n_comment), upper(left(n_comment, 5)), strpos(n_comment, 'e') from nation where n_nationkey < 5;

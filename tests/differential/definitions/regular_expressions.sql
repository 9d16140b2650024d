-- Patterns that RE2 does not have, or whose longest match it would not find first: the local engine's own matching.
create table rp (s text, p text);
select regexp_match('abab', '(ab){1,1}?'), regexp_match('aaa', 'a{1,1}?'), regexp_matches('abc', '()b'), regexp_replace('aaa', 'a{1,1}?', 'b', 'g'), regexp_match('foobar', '(|b)ar'), regexp_match('abc', '(x)?b');
select regexp_match(s, 'a{1,1}?b*'), regexp_match(s, '(a*)(ab)*'), regexp_replace(s, '()', '-', 'g') from (values ('aab'), ('abab'), ('')) t(s);
select regexp_match(repeat('a', 2000), '(?=.*b)a+');
select regexp_match(repeat('a', 200) || 'b', '(?=.*b)a+'), regexp_match('foobar', 'foo(?!baz)'), regexp_match('foobar', '(?<=foo)bar'), regexp_match('foobar', '(?<!x)bar');
select regexp_matches(repeat('ab', 500), '(a(?=b))+b');
select regexp_match('abab', '(ab)\1'), 'abab' ~ '(ab)\1', regexp_replace('aabbcc', '(.)\1', '<\1>', 'g'), 'abcabc' ~ '^(.*)\1$', 'abcab' ~ '^(.*)\1$';
select s ~ '(.)\1', regexp_match(s, '(.)\1'), regexp_replace(s, '(.)\1', '<\1\1>', 'g'), substring(s from '(.)\1'), regexp_split_to_array(s, '(.)\1'), regexp_count(s, '(.)\1') from (values ('aabb'), ('abc'), ('xyzzy'), (null)) t(s);
select s from (values ('aabb'), ('abc'), ('xyzzy')) t(s) where s ~ '(.)\1' and s !~* '(A)\1';
select regexp_replace('xabcabcabd', 'abc|abcabcab', 'Z'), regexp_replace('foobarbaz', 'b|ba|bar', 'X', 'g'), regexp_match('abcd', 'a|ab|abc'), regexp_replace('abcabc', '(ab|abc)(c|abc)?', '[\1|\2]');
select regexp_replace(s, 'a|ab|abc', 'X'), regexp_replace(s, '(a|ab)(c|bcd)', '<\1,\2>'), regexp_match(s, '(a|ab)(c|bcd)(d*)'), substring(s from 'a|ab|abc'), regexp_split_to_array(s, 'b|bc') from (values ('abcd'), ('xab'), ('abcabc')) t(s);
select regexp_replace('aaa', 'a*?', 'b', 'g'), regexp_replace('aXbX', '.*?X', '-'), regexp_match('abc01234xyz', '(.*)(\d+)(.*)'), regexp_match('abc01234xyz', '(?:(.*?)(\d+)(.*)){1,1}');
insert into rp values ('foobar', 'o+'), ('abc', '^b'), ('xyz', null), (null, 'a'), ('a1b22', '[0-9]+');
select s, p, s ~ p, s !~ p, s ~* p, regexp_match(s, p), regexp_replace(s, p, '<\&>', 'g'), substring(s from p), regexp_count(s, p), regexp_instr(s, p), regexp_split_to_array(s, p), regexp_substr(s, p) from rp order by 1;
select s, regexp_matches(s, p, 'g') from rp order by 1, 2;
select s from rp where s ~ '(';
select s from rp where s ~ (p || '(');
select regexp_instr('abcabc', '(b)(c)?', 1, 2, 1, '', 2), regexp_instr('abc', 'b*', 1, 2), regexp_substr('aXbXc', '(?<=X)(.)', 1, 2, '', 1), regexp_replace('abcabc', '(?=b)', '-', 1, 2), regexp_replace('abc', '', '-', 'g'), regexp_split_to_array('abc', 'x*'), regexp_split_to_table('a,b', '(?=,)');
select regexp_replace('hello world', '\y(.)', '[\1]', 'g'), 'foo bar' ~ '\yfoo\y', regexp_match('aA', '(a)\1', 'i');
select regexp_like('abc', 'B', 'g');
select regexp_match('abc', 'B', 'g');
select regexp_replace(s, '(a*)', '(\1)', 'g') from rp order by 1

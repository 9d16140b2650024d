"""Questions about strings, patterns and formats (`function_rows.questions`): a type and its values, then expressions of
x.

BOTH goes to both engines, LOCAL and SPARK to one, where the other lacks the function.
"""

from __future__ import annotations

from typing import Final

BOTH: Final = r"""
bit(8) | 10101010 | 00001111
x & b'11110000'
x | b'11110000'
x # b'11110000'
x & b'1'
~x
x << 2
x << -2
x >> 2
x >> 9
x || b'1'
get_bit(x, 0)
get_bit(x, 8)
set_bit(x, 1, 1)
set_bit(x, 1, 2)
bit_count(x)
substring(x from 3 for 2)
substring(x, 0, 3)
substring(x, 3, -1)
position(b'10' in x)
overlay(x placing b'11' from 3)
overlay(x placing b'11' from 3 for 0)
x::int4
x::int8

int4 | 5 | -5 | 2147483647
x::bit(3)
x::bit(8)
x::bit(40)
x::int8::bit(70)
num_nulls(x, null, 1)
num_nonnulls(x, null, 1)

text | abc | Héllo Wörld | '' | '  pad  ' | straße ﬁ ΑΣ İ | 😀a😀b | e'x | a\b | x,y,,z | AbC dEf-1g_h | 12345
regexp_replace(x, '\w', '<\&>', 1, 3)
regexp_replace(x, '([a-z])([a-z])', '\2-\1', 2, 2)
regexp_replace(x, '[[:space:]]', '', 1, 2)
upper(x)
lower(x)
initcap(x)
length(x)
char_length(x)
character_length(x)
octet_length(x)
bit_length(x)
reverse(x)
ascii(x)
md5(x)
x || 'z'
'z' || x || x
x || 1
x || true
1.50 || x
substr(x, 2)
substr(x, 0)
substr(x, -1)
substr(x, 2, 2)
substr(x, -1, 4)
substr(x, 3, 2147483647)
substr(x, 2, -1)
substring(x from 2 for 3)
substring(x for 2)
left(x, 2)
left(x, -2)
left(x, 0)
right(x, 2)
right(x, -2)
lpad(x, 8)
lpad(x, 8, 'xy')
lpad(x, 2, 'xy')
lpad(x, 8, '')
lpad(x, -1, 'x')
rpad(x, 8, 'äö')
rpad(x, 8)
lpad(x, 8, null)
trim(x)
btrim(x, 'a ')
ltrim(x)
ltrim(x, 'aH')
rtrim(x, 'c ')
trim(both 'xz' from x)
trim(leading from x)
trim(x, null)
position('b' in x)
position('' in x)
strpos(x, 'ö')
overlay(x placing 'Z' from 2)
overlay(x placing 'Z' from 2 for 0)
overlay(x placing 'XYZ' from 3 for 1)
overlay(x placing 'Z' from 0)
replace(x, 'b', 'XX')
replace(x, '', 'XX')
replace(x, 'b', '')
replace(x, 'b', null)
translate(x, 'abc', 'AB')
translate(x, 'ö', 'o')
repeat(x, 3)
repeat(x, 0)
repeat(x, -1)
split_part(x, ',', 1)
split_part(x, ',', 3)
split_part(x, ',', -1)
split_part(x, ',', 9)
split_part(x, '', 1)
split_part(x, ',', 0)
starts_with(x, 'a')
x ^@ 'a'
concat(x, null, 'b', 1, true, 2.50)
concat_ws(',', x, null, 'b', 3)
concat_ws(null, x)
quote_literal(x)
quote_nullable(x)
quote_ident(x)
format('%s|%I|%L|%%|%1$s|%5s|%-5s|', x, x, x)
format('%2$s %s', 'a', x)
format('%s %s', x)
format('%y', x)
string_to_array(x, ',')
string_to_array(x, ',', '')
string_to_array(x, null)
string_to_array(x, '')
string_to_array(x, 'bc')
encode(convert_to(x, 'UTF8'), 'hex')
convert_from(convert_to(x, 'UTF8'), 'utf-8')
encode(convert_to('a', 'UTF8') || 'b', 'base64')
x like 'a%'
x like '%b%'
x like '_b_'
x not like '%c'
x like ''
x like 'a\\b'
x like 'a#\b' escape '#'
x like '%!_h' escape '!'
x ilike 'ABC'
x ilike '%ö%'
x ilike 'ας'
x ~~ 'a%'
x !~~* 'a%'
x similar to '(abc|x%)'
x similar to 'a_c'
x not similar to '[a-c]+'
x ~ '^a'
x ~ '[[:digit:]]+$'
x ~ '\s'
x ~ '\w\W\w'
x ~ '[[:alpha:]]{3}'
x ~ '(?i)ABC'
x ~* 'ABC'
x !~ 'b'
x !~* 'B'
x ~ '('
x ~ '[z-a]'
x ~ 'a**'
x ~ ''
x ~ '.{5}'
x ~ '^$'
regexp_like(x, 'B', 'i')
regexp_like(x, 'b', 'y')
regexp_match(x, 'b')
regexp_match(x, '(.)(b)')
regexp_match(x, '^([a-zA-Z]+)(\s)?')
regexp_match(x, 'b', 'g')
regexp_replace(x, 'b', '[\&]')
regexp_replace(x, '[a-c]', 'X', 'g')
regexp_replace(x, '([a-c])([a-c])', '\2\1')
regexp_replace(x, '\s+', '', 'g')
regexp_replace(x, '^\s+|\s+$', '-', 'g')
regexp_replace(x, 'B', 'x', 'gi')
regexp_replace(x, 'b', 'x', 'y')
regexp_split_to_array(x, ',')
regexp_split_to_array(x, '[,\s]+')
regexp_split_to_array(x, '')
regexp_count(x, '[a-z]')
regexp_substr(x, '[a-z]+')
regexp_substr(x, '[a-z]', 1, 2)
regexp_instr(x, '[bö]')
regexp_instr(x, '[bö]', 1, 1, 1)
substring(x from '[a-z]+')
substring(x from '([a-z])[a-z]')
substring(x, 'q')
to_json(x)
json_build_object('k', x, 'n', 1)
json_build_array(x, null)

text | 0061ff | 00 | '' | 6 | zz
decode(x, 'hex')

text | YWJj | YQ== | '' | YW | Y*==
decode(x, 'base64')

bytea | abc | \x00ff41 | '' | \x5c6162
btrim(x, 'c\000'::bytea)
ltrim(x, '\x005c'::bytea)
rtrim(x, 'cA'::bytea)
x like 'a%'::bytea
x not like '%\377_'::bytea
x like x
bit_count(x)
length(x)
octet_length(x)
bit_length(x)
x || 'a'::bytea
substr(x, 2)
substring(x from 2 for 1)
substring(x from 0 for 2)
substring(x from 1 for -1)
overlay(x placing 'Z'::bytea from 2)
md5(x)
sha256(x)
encode(x, 'hex')
encode(x, 'base64')
encode(x, 'escape')
get_byte(x, 0)
get_byte(x, 9)
get_bit(x, 3)
set_bit(x, 3, 1)
set_bit(x, 0, 0)
set_byte(x, 0, 300)
set_byte(x, 9, 1)
convert_from(x, 'UTF8')

integer | 0 | 1 | -1 | 65 | 955 | 128512 | 55296 | 1114112 | 255 | -2147483648
chr(x)
to_hex(x)
to_hex(x::bigint)
to_char(x, '999')
to_char(x, 'FM999,999,999')
to_char(x, 'S09999')
to_char(x, '9999MI')
repeat('a', x % 10)
left('abcdef', x)
right('abcdef', x)
substr('abcdef', x)
lpad('abc', x % 1000, '-')
split_part('a,b,c', ',', x)

numeric(12,3) | 0 | 0.1 | -0.1 | 12.345 | -12.345 | 1234.5 | 999999.999 | 0.005
to_char(x, '999.99')
to_char(x, 'FM999.99')
to_char(x, 'FM999990.00')
to_char(x, '999,999.99')
to_char(x, '0000.0')
to_char(x, 'S999.9')
to_char(x, '999.9PR')
to_char(x, '999D99S')
to_char(x, 'FM9,999,999.990')
to_json(x)

integer[] | {1,2,3} | {} | {1,NULL,1} | {2}
array_length(x, 1)
array_length(x, 2)
array_upper(x, 1)
array_lower(x, 1)
array_ndims(x)
array_dims(x)
cardinality(x)
x || 4
x || array[4,5]
0 || x
array_append(x, null)
array_prepend(7, x)
array_cat(x, x)
array_cat(x, null)
x[1]
x[0]
x[9]
x[2:3]
x[0:1]
x[3:1]
array_position(x, 1)
array_position(x, null)
array_position(x, 1, 2)
array_positions(x, 1)
array_remove(x, 1)
array_remove(x, null)
array_replace(x, 1, 9)
array_to_string(x, ',')
array_to_string(x, ',', '*')
trim_array(x, 1)
x @> array[1]
x <@ array[1,2,3]
x && array[2,9]
x @> array[]::int[]
1 = any(x)
1 = all(x)
2 < any(x)
0 < all(x)
null = any(x)
1 <> all(x)
to_json(x)
array_fill(7, array[2])
array_fill(7, array[cardinality(x) - 1])
width_bucket(2, x)
width_bucket(1.5, x)
width_bucket(x[1], array[1, 2])
"""

LOCAL: Final = r"""
text | 12.25 | -7 | +0.25 | 1,234.5 | ' 3'
to_number(x, '9,999.99')
to_number(x, 'S9999.9')
to_number(x, '9999V99')

text | axb | xx | '' | abc
regexp_replace(x, 'x*', '-')
substr(x, null)
regexp_replace(x, 'x', repeat('z', 2))

float8 | 0 | 0.125 | -12.345 | 2.5 | 1234.5
to_char(x, '999.99')
to_char(x, 'FM999,990.0')
to_char(x, '9.99EEEE')
to_char(x, '99999999999999.99th')

jsonb | {"a": {"b": 1.50}, "c": [1, 2, {"d": null}]} | [1, "x", null] | 1.50 | "s" | null | {}
x -> 'a'
x ->> 'a'
x -> 0
x ->> 1
x -> -1
x #> '{c,2,d}'
x #>> '{a,b}'
x['a']
x ? 'a'
x ?| array['a', 'x']
x ?& array['a', 'c']
x @> '{"a": {}}'
x @> '[1]'
x <@ '[1, "x", null, 2]'
x || '{"z": 1}'
x || '[2]'
x - 'a'
x - 0
x - array['a', 'x']
x #- '{c,0}'
jsonb_set(x, '{a,b}', '9')
jsonb_set(x, '{q}', '[1]', false)
jsonb_insert(x, '{c,0}', '0')
jsonb_pretty(x)
jsonb_typeof(x)
jsonb_array_length(x)
jsonb_strip_nulls(x)
jsonb_extract_path(x, 'c', '0')
jsonb_extract_path_text(x, 'a', 'b')
to_jsonb(x)
jsonb_build_object('bb', x, 'a', 1)

json | {"a" : {"b": 1.50 }, "a":2} | [1,  "x\u0041"] | 1.50 | "s" | null
x -> 'a'
x ->> 'a'
x -> 1
x ->> 1
x #> '{a}'
json_typeof(x)
json_array_length(x)
json_strip_nulls(x)
x::jsonb
to_json(x)
json_build_array(x, 1)

text | {"b":1, "a": [1.0]} | [1 | nul | "x"
x::json
x::jsonb
x::jsonb ->> 'b'
"""

SPARK: Final = r"""
bytea | abc | \x00ff | ''
sha224(x)
sha384(x)
sha512(x)

text | foobar | fo | aa ab | foo bar | éfoo | foo
x ~ 'foo(?=b)'
x ~ 'foo(?!b)'
x ~ '(?<=a)b'
x ~ '(.)\1'
x ~ '\mb'
x ~ 'o\M'
x ~ '\yfoo\y'
x ~ 'o\Y'
regexp_replace(x, '\yfoo\y', '-', 'g')
"""

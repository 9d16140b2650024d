# ruff: noqa: E501 - a line is a block's values
"""Casts on DuckDB, on Spark and in PostgreSQL 15: to and from text, between types, and by modifiers.

`EQUAL` has answers, and errors, that must be PostgreSQL's. `BEYOND` has values that the engines cannot hold, or that
only a reader of literals understands: there an error (0A000, or 22003 for digits) may replace PostgreSQL's answer, but
never another answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psycopg
import pytest
from function_rows import ZONE, Engine, Oracle, Question, ask_postgres, is_error, questions
from support.campaigns import PARTS
from support.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.long,
    pytest.mark.postgres,
    pytest.mark.asyncio(loop_scope="module"),
    # PySpark leaves the sockets of a collected result to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EQUAL = """
smallint | 0 | -32768 | 32767 | 7
x::int
x::bigint
x::real
x::float8
x::numeric
x::numeric(10,2)
x::numeric(3,1)
x::text
x::varchar(2)
x::char(3)
x::oid

integer | 0 | -2147483648 | 2147483647 | 70000 | -1
x::smallint
x::bigint
x::real
x::float8
x::numeric
x::numeric(10,2)
x::bool
x::text
x::varchar(2)
x::char(12)
x::oid
x::real::text

bigint | 0 | -9223372036854775808 | 9223372036854775807 | 5000000000 | 3000000000 | -1
x::smallint
x::int
x::real
x::float8
x::numeric
x::numeric(10,2)
x::text
x::oid
x::real::text
x::float8::text

real | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.1 | 16777216 | 1e6 | 999999 | 123456.7 | 1234567 | 1e-4 | 1e-5 | 3.4e38 | 1e-45 | 1.17549435e-38 | NaN | Infinity | -Infinity | 32767.5 | 2147483648 | 9.223372e18 | 0.3333333 | 8388608.5 | 33554430 | 1e10
x::smallint
x::int
x::bigint
x::float8
x::text
x::varchar(3)

real | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.1 | 16777216 | 1e6 | 999999 | 123456.7 | 1234567 | 1e-4 | 1e-5 | 32767.5 | 2147483648 | 9.223372e18 | 0.3333333 | 8388608.5 | 33554430 | 1e10
x::numeric

real | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.1 | 16777216 | 1e6 | 999999 | 123456.7 | 1234567 | 1e-4 | 1e-5 | 3.4e38 | 32767.5 | 2147483648 | 9.223372e18 | 0.3333333 | 8388608.5 | 33554430 | 1e10
x::numeric(10,2)

float8 | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.5 | 0.1 | 1e15 | 999999999999999 | 123456789012345.6 | 1234567890123456 | 1e16 | 1e17 | 1e22 | 1e23 | 1e100 | 1e300 | 1.7976931348623157e308 | 5e-324 | 2.2250738585072014e-308 | 1e-4 | 0.00012345 | 1e-5 | 1.5e-7 | NaN | Infinity | -Infinity | 32767.5 | -32768.5 | 32766.5 | 2147483647.5 | 2147483646.5 | 9223372036854775807 | -9223372036854775808 | 5.684341886080802e-14 | 2e-3 | 2e23 | 1.1e23 | 0.3333333333333333 | 100.0 | 123456789.123 | 1e39 | 3.5e38 | 1e-46
x::smallint
x::int
x::bigint

float8 | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.5 | 0.1 | 1e15 | 999999999999999 | 123456789012345.6 | 1234567890123456 | 1e16 | 1e17 | 1e22 | 1e23 | 1e100 | 1e300 | 1.7976931348623157e308 | 1e-4 | 0.00012345 | 1e-5 | 1.5e-7 | NaN | Infinity | -Infinity | 32767.5 | -32768.5 | 32766.5 | 2147483647.5 | 2147483646.5 | 9223372036854775807 | -9223372036854775808 | 5.684341886080802e-14 | 2e-3 | 2e23 | 1.1e23 | 0.3333333333333333 | 100.0 | 123456789.123 | 1e39 | 3.5e38
x::real

float8 | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.5 | 0.1 | 1e15 | 999999999999999 | 123456789012345.6 | 1234567890123456 | 1e16 | 1e17 | 1e-4 | 0.00012345 | 1e-5 | 1.5e-7 | 32767.5 | -32768.5 | 32766.5 | 2147483647.5 | 2147483646.5 | 9223372036854775807 | -9223372036854775808 | 2e-3 | 0.3333333333333333 | 100.0 | 123456789.123
x::numeric

float8 | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.5 | 0.1 | 1e15 | 999999999999999 | 123456789012345.6 | 1234567890123456 | 1e16 | 1e17 | 1e22 | 1e23 | 1e100 | 1e300 | 1.7976931348623157e308 | 1e-4 | 0.00012345 | 1e-5 | 1.5e-7 | 32767.5 | -32768.5 | 32766.5 | 2147483647.5 | 2147483646.5 | 9223372036854775807 | -9223372036854775808 | 2e-3 | 2e23 | 1.1e23 | 0.3333333333333333 | 100.0 | 123456789.123 | 1e39 | 3.5e38
x::numeric(10,2)

float8 | 0 | -0 | 1.5 | 2.5 | -2.5 | 0.5 | 0.1 | 1e15 | 999999999999999 | 123456789012345.6 | 1234567890123456 | 1e16 | 1e17 | 1e22 | 1e100 | 1e300 | 1.7976931348623157e308 | 5e-324 | 2.2250738585072014e-308 | 1e-4 | 0.00012345 | 1e-5 | 1.5e-7 | NaN | Infinity | -Infinity | 32767.5 | -32768.5 | 32766.5 | 2147483647.5 | 2147483646.5 | 9223372036854775807 | -9223372036854775808 | 5.684341886080802e-14 | 2e-3 | 1.1e23 | 0.3333333333333333 | 100.0 | 123456789.123 | 1e39 | 3.5e38 | 1e-46
x::text
x::varchar(3)

numeric(10,3) | 0 | 1.5 | 2.5 | -2.5 | -0.5 | 0.001 | 32767.5 | 32767.499 | 9999999.999 | -9999999.999 | 100
x::int
x::bigint
x::real
x::float8
x::numeric(10,2)
x::numeric(5,2)
x::numeric(12,5)
x::numeric
x::text
x::varchar(4)
x::char(8)

numeric(10,3) | 0 | 1.5 | 2.5 | -2.5 | -0.5 | 0.001 | 32767.499 | 100
x::smallint

numeric | 0 | 1.5 | 2.5 | -2.5 | 1e10 | 100 | 12345.678901 | 0.0000001 | 9223372036854775807.5 | 9223372036854775807.4 | 2147483647.5 | 1.10
x::real
x::float8
x::numeric(10,2)
x::numeric(30,10)
(x * 1.10)::text
(x / 3)::numeric(20,5)::text

numeric | 0 | 1.5 | 2.5 | -2.5 | 100 | 12345.678901 | 0.0000001 | 1.10
x::smallint
x::int

numeric | 0 | 1.5 | 2.5 | -2.5 | 1e10 | 100 | 12345.678901 | 0.0000001 | 9223372036854775807.4 | 2147483647.5 | 1.10
x::bigint

numeric | 0 | 1.5 | 2.5 | -2.5 | 1e10 | 100 | 12345.678901 | 9223372036854775807.5 | 9223372036854775807.4 | 2147483647.5 | 1.10
x::text

numeric | 0 | 1.5 | 2.5 | -2.5 | 1e10 | 100 | 12345.678901 | 0.0000001 | 2147483647.5 | 1.10
(x / 3)::text
(x / 3)::float8

numeric | 0 | 1.5 | 2.5 | -2.5 | 100 | 12345.678901 | 0.0000001 | 9223372036854775807.5 | 9223372036854775807.4 | 2147483647.5 | 1.10
(x / 3)::int

bool | t | f
x::int
x::text
x::varchar(2)
x::char(6)
x::smallint
x::bigint

text | 0 | 1 | -1 | +5 | 007 | ' 12 ' | '' | ' ' | abc | 32768 | 2147483648 | 9223372036854775808 | 99999999999999999999999999999999999999999999 | 1.5 | 1e2 | -0 | 0x10 | 1_000 | - | '\t12' | -9223372036854775808
x::smallint
x::int
x::bigint
x::oid
x::numeric(10,2)

text | 0 | 1 | -1 | +5 | 007 | ' 12 ' | '' | ' ' | abc | 32768 | 2147483648 | 9223372036854775808 | 1.5 | 1e2 | -0 | 0x10 | 1_000 | - | '\t12' | -9223372036854775808
x::numeric

text | 0 | 1 | -1 | +5 | 007 | ' 12 ' | '' | ' ' | abc | 32768 | 2147483648 | 9223372036854775808 | 99999999999999999999999999999999999999999999 | 1.5 | 1e2 | -0 | 1_000 | - | '\t12' | -9223372036854775808
x::float8
x::real

text | 1.5 | ' 1.5 ' | .5 | 5. | . | -.5e-3 | 1e5 | 1E+5 | NaN | nan | Infinity | -inf | inf | +Infinity | infinit | 1e400 | -1e400 | 1e-400 | 1e39 | 1e-50 | 1.5f | 1d | 12345678901234567890.123456789 | 1.50 | 0.00000000000000001 | '' | ' ' | 1e | e5 | '1 2' | 3.4028236e38 | 1.7976931348623159e308 | 1.005 | 12345678901234567890123 | 100
x::float8
x::real

text | 1.5 | ' 1.5 ' | .5 | 5. | . | -.5e-3 | 1e5 | 1E+5 | infinit | 0x1p3 | 1.5f | 1d | 12345678901234567890.123456789 | '' | ' ' | 1e | e5 | '1 2' | 1.005 | 100
x::numeric

text | 1.5 | ' 1.5 ' | .5 | 5. | . | -.5e-3 | 1e5 | 1E+5 | infinit | 1e400 | -1e400 | 1e39 | 0x1p3 | 1.5f | 1d | 12345678901234567890.123456789 | 1.50 | '' | ' ' | 1e | e5 | '1 2' | 3.4028236e38 | 1.7976931348623159e308 | 1.005 | 12345678901234567890123 | 100
x::numeric(10,2)

text | 1.5 | ' 1.5 ' | .5 | 5. | . | -.5e-3 | 1e5 | 1E+5 | infinit | 1e400 | -1e400 | 1e39 | 0x1p3 | 1.5f | 1d | 12345678901234567890.123456789 | 1.50 | '' | ' ' | 1e | e5 | '1 2' | 3.4028236e38 | 1.7976931348623159e308 | 1.005 | 100
x::numeric(38,10)

text | t | f | T | tr | true | TRUE | ' true ' | falsE | fal | y | yes | ye | n | no | on | of | off | o | 1 | 0 | 2 | '' | ' ' | x | '\tt'
x::bool

text | abc | '' | 'a  ' | abcdefgh | 'äöü' | ' '
x::varchar(2)
x::char(3)
x::char(5)::text
x::name
x::text
x::varchar
x::bpchar
x::bpchar::text
length(x::char(5))

text | abc | '' | 'a  ' | abcdefgh | ' '
x::"char"

text | abcdefgh
x::char(5)::varchar(10)

text | \\x | \\x01ff | \\xAB | \\xabc | abc | 'ä'
x::bytea

bytea | \\x | \\x01ff00
x::text
x::varchar(4)

date | 2020-02-29 | 0001-01-01 | 9999-12-31 | 10000-01-01 | 0044-03-15 BC | infinity | -infinity | 1969-12-31
x::text
x::timestamp
x::timestamptz
x::timestamp::text

timestamp | 2020-02-29 12:34:56.789 | 2020-02-29 00:00:00 | 1969-12-31 23:59:59.999999 | 9999-12-31 23:59:59.999999 | 0001-01-01 00:00:00 | 2021-03-14 02:30:00 | 2021-11-07 01:30:00 | infinity | 1999-12-31 23:59:59.5 | 2000-01-01 00:00:00.5 | 1999-12-31 23:59:58.45
x::text
x::date
x::time
x::timestamptz
x::timestamptz::text
x::timestamp(0)
x::timestamp(1)
x::timestamp(3)

timestamptz | 2020-02-29 12:34:56.789+00 | 2020-07-01 00:00:00+00 | 1969-12-31 23:59:59.999999+00 | 2021-11-07 04:30:00+00 | 2021-11-07 05:30:00+00 | 1900-01-01 00:00:00+00 | infinity
x::text
x::date
x::time
x::timetz
x::timestamp
x::timestamptz(0)
x::timestamptz(2)

time | 00:00:00 | 12:34:56.789 | 24:00:00 | 23:59:59.999999 | 23:59:59.5 | 01:02:03.000001
x::text
x::interval
x::timetz
x::time(0)
x::time(3)
x::varchar(5)

timetz | 12:34:56+02 | 12:34:56.5-03:30 | 00:00:00+05:45:10 | 24:00:00+00
x::text
x::time
x::timetz(0)

interval | 0 | 1 year 2 mons 3 days 04:05:06.789 | -1 year | -1 days +02:03:00 | 1 mon -1 days | 1 day -00:00:01 | -1 mons +3 days | 13 months | -13 months | 100:00:00 | 00:00:00.5 | -0.000001 seconds | 1 day | 2 days | -1 day | 1000 hours 59 min
x::text
x::time
x::interval(0)
x::interval(2)
x::interval year
x::interval month
x::interval year to month
x::interval day
x::interval hour
x::interval day to hour
x::interval minute
x::interval hour to second
x::interval second(1)
x::varchar(6)

text | 2020-02-29 | 2021-02-29 | 2020-13-01 | 20200229 | 2020-1-5 | ' 2020-01-05 ' | 0000-01-01 | 9999-12-31 | abc | '' | 2020-02-30 | 1900-02-29
x::date
x::timestamp
x::timestamptz

text | 2020-02-29 12:34:56 | 2020-02-29T12:34:56.789 | 2020-02-29 12:34 | 2020-02-29 24:00:00 | 2020-02-29 25:00:00 | 2020-02-29 12:60:00 | 2020-02-29 12:34:60 | 2021-02-29 12:00:00 | 2020-02-29 1:02:03 | 2021-03-14 02:30:00
x::timestamp
x::timestamptz

text | 2020-02-29 12:34:56+00 | 2020-02-29 12:34:56.5Z | 2020-02-29 12:34:56 +05:30 | 2020-02-29 12:34:56-0330 | 2020-02-29T12:34:56-03 | 2020-02-29 12:34+01
x::timestamptz

text | 12:34:56 | 12:34 | 1:02:03.5 | 24:00:00 | 24:00:01 | 25:00 | 12:60 | 12:34:60 | 12:34:61 | 23:59:60 | ' 12:00 ' | abc
x::time

text | 12:34:56+02 | 12:34-03:30 | 12:34:56.789Z | 24:00:00+00
x::timetz

text | 1 day | 2 days 3 hours | 1 year 2 mons 3 days 04:05:06.789 | -1 days +02:03:00 | 1 mon -1 days | 04:05:06 | -00:00:01 | 04:05 | 3 weeks | 1 hour 30 min | 90 minutes | 1d 2h | '' | abc | 1 Year | 100:00:00 | 5 secs | -1 mons +3 days | ' 1 day ' | 00:00:00 | 1 day -00:00:00.5
x::interval

text | a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 | A0EEBC999C0B4EF8BB6D6BB9BD380A11 | {a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11} | a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11 | abc | '' | a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g | ' a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
x::uuid

uuid | a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11
x::text
x::varchar(8)

jsonb | {"a": 1} | [1,2] | "x" | 5
x::text
x::json

json | {"a":  1}
x::text

integer[] | {1,2,null} | {}
x::bigint[]
x::smallint[]
x::text[]
x::text
x::float8[]
x::numeric[]
x::numeric(5,2)[]
x::varchar(1)[]
x::bool[]

text[] | {1,2,null} | {} | {abc}
x::int[]
x::text
x::varchar(2)[]
x::char(3)[]
x::numeric[]

text[] | {"a b",c,"","NULL","x\\"y","a\\\\\\\\b","{q}","c,d"}
x::text

float8[] | {1.5,2.5,NaN,1e20}
x::int[]
x::text
x::real[]

bool[] | {t,f,null}
x::text
x::text[]
x::int[]

timestamp[] | {2020-01-01 00:00:00,null}
x::text
x::date[]

numeric(10,2)[] | {1.50,2.25}
x::text
x::int[]
x::numeric(10,1)[]
x::text[]

oid | 0 | 4294967295 | 5
x::int
x::bigint
x::text
x::regclass::oid

integer[] | {}
cardinality(x)
"""

BEYOND = """
float8 | 5e-324 | 1e-46 | 5.684341886080802e-14
x::numeric(10,2)

text | äöü
x::"char"

integer | 0 | -2147483648 | 2147483647 | 70000 | -1
x::"char"

real | 3.4e38 | 1e-45 | 1.17549435e-38 | NaN | Infinity | -Infinity
x::numeric

real | NaN | Infinity | -Infinity
x::numeric(10,2)

float8 | 5e-324 | 2.2250738585072014e-308 | 1e-46
x::real

float8 | 1e22 | 1e23 | 1e100 | 1e300 | 1.7976931348623157e308 | 5e-324 | 2.2250738585072014e-308 | NaN | Infinity | -Infinity | 5.684341886080802e-14 | 2e23 | 1.1e23 | 1e39 | 3.5e38 | 1e-46
x::numeric

float8 | NaN | Infinity | -Infinity
x::numeric(10,2)

float8 | 1e23 | 2e23
x::text
x::varchar(3)

numeric(10,3) | 32767.5 | 9999999.999 | -9999999.999
x::smallint

numeric | 1e10 | 9223372036854775807.5 | 9223372036854775807.4 | 2147483647.5
x::smallint
x::int

numeric | 9223372036854775807.5
x::bigint

numeric | 0.0000001
x::text

numeric | 9223372036854775807.5 | 9223372036854775807.4
(x / 3)::text
(x / 3)::float8

numeric | 1e10
(x / 3)::int

text | 99999999999999999999999999999999999999999999
x::numeric

text | 0x10
x::float8
x::real

text | 0x1p3
x::float8
x::real

text | NaN | nan | Infinity | -inf | inf | +Infinity | 1e400 | -1e400 | 1e-400 | 1e39 | 1e-50 | 0.00000000000000001 | 3.4028236e38 | 1.7976931348623159e308 | 12345678901234567890123
x::numeric

text | NaN | nan | Infinity | -inf | inf | +Infinity | 1e-400 | 1e-50 | 0.00000000000000001
x::numeric(10,2)

text | NaN | nan | Infinity | -inf | inf | +Infinity | 1e-400 | 1e-50 | 0.00000000000000001 | 12345678901234567890123
x::numeric(38,10)

text | 'äöü'
x::"char"

text | abc | '' | 'a  ' | 'äöü' | ' '
x::char(5)::varchar(10)

text | \\xzz | a\\\\b | a\\001b | \\x 01 | a\\b
x::bytea

text | abc 12:00
x::timestamp
x::timestamptz

json | {"a":  1}
x::jsonb

text | {"a":  1} | [1, 2 | null | 1.0 | "a" | abc | ''
x::json
x::jsonb

float8[] | {1.5,2.5,NaN,1e20}
x::numeric[]
"""

#: Some of each, since Spark takes its time over every statement; without what Java's calendar cannot write.
SPARK = """
float8 | 1e22 | 1.5e-7 | 123.456 | 1e15 | -0
x::text
x::numeric(20,2)

text | 12 | 1.5 | t | 99999999999
x::int
x::float8
x::numeric
x::bool

numeric | 0.001 | 100 | 1.10
x::text
(x / 3)::text

timestamp | 2020-02-29 12:34:56.789 | 1999-12-31 23:59:58.45
x::text
x::date
x::time
x::timestamptz::text
x::timestamp(0)
x::timestamp(1)

timestamptz | 2020-02-29 12:34:56.789+00 | 1900-01-01 00:00:00+00
x::text
x::time
x::timetz
x::timestamptz(2)

date | 2020-02-29 | 0001-01-01
x::text
x::timestamp

time | 12:34:56.789 | 24:00:00
x::text
x::interval
x::time(0)

timetz | 12:34:56.5-03:30
x::text
x::time
x::timetz(0)

interval | 1 year 2 mons 3 days 04:05:06.789 | -1 days +02:03:00 | 0
x::text
x::time
x::interval(2)
x::interval year to month
x::interval day to hour

text | 2020-02-29 | 20200229
x::date
x::timestamp
x::timestamptz

text | 2020-02-29 12:34:56 | 2020-02-29T12:34:56.789 | 2020-02-29 24:00:00 | 2021-11-07 01:30
x::timestamp
x::timestamptz

text | 2020-02-29 12:34:56+00 | 2020-02-29 12:34:56 +05:30
x::timestamptz

text | 12:34:56 | 24:00:00
x::time

text | 12:34-03:30
x::timetz

text | 1 year 2 mons 3 days 04:05:06.789 | -1 days +02:03:00 | 90 minutes
x::interval

text | a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 | A0EEBC999C0B4EF8BB6D6BB9BD380A11 | abc
x::uuid

text | \\x01ff | abc | ä
x::bytea

integer[] | {1,2,null} | {}
x::bigint[]
x::text[]
x::text
x::numeric(5,2)[]
x::varchar(1)[]

text[] | {"a b",c,"","NULL","x\\"y","a\\\\\\\\b","{q}","c,d"}
x::text

oid | 0 | 4294967295 | 5
x::int
x::text

text | abc | 'a  '
x::char(5)::varchar(10)
x::varchar(2)

float8 | 5e-324
x::text
"""


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer) -> Iterator[Oracle]:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(f"set timezone = '{ZONE}'")
        yield connection


async def check(
    engine: Engine, oracle: Oracle, asked: Sequence[Question], *, beyond: bool = False, errors: int = 1
) -> None:
    """Ask both; of the questions that PostgreSQL refuses every `errors`th, since each is a statement of its own."""
    theirs = [ask_postgres(oracle, question) for question in asked]
    refused = [i for i, answer in enumerate(theirs) if is_error(answer)][::errors]
    kept = [i for i, answer in enumerate(theirs) if not is_error(answer) or i in refused]
    asked, theirs = [asked[i] for i in kept], [theirs[i] for i in kept]
    alone = range(len(asked)) if beyond else [i for i, answer in enumerate(theirs) if is_error(answer)]
    ours = await engine.answers(asked, refused=alone)
    differing = [
        f"{question}: PostgreSQL {their!r}, {engine.name} {our!r}"
        for question, their, our in zip(asked, theirs, ours, strict=True)
        if our != their and not (beyond and our in ("error 0A000", "error 22003"))
    ]
    assert not differing, "\n".join(differing)


async def test_local(oracle: Oracle, local: Engine) -> None:
    await check(local, oracle, list(questions(EQUAL)))


async def test_local_beyond(oracle: Oracle, local: Engine) -> None:
    await check(local, oracle, list(questions(BEYOND)), beyond=True)


@pytest.mark.spark
async def test_spark(oracle: Oracle, spark: Engine) -> None:
    await check(spark, oracle, list(questions(SPARK))[::PARTS], errors=3)

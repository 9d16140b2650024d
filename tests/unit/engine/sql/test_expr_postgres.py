"""The expression binder against PostgreSQL 15: the same type for every expression, or the same error at the same
position.

An expression that PostgreSQL accepts and Sluice refuses as not supported (0A000) is not a difference here; a different
result without an error is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import psycopg
import pytest
from support.expression_ground import COLUMNS, Ground
from support.postgres_server import PostgresServer

from wire.errors import SqlError

pytestmark = pytest.mark.postgres

#: What a statement is to a client before it runs: parameter types and the result's type; or an error.
Outcome = tuple[tuple[int, ...], int] | tuple[str, str, int | None]

_OPERATORS = ("+", "-", "*", "/", "%", "^", "||", "=", "<", "<>", "~~", "~", "&", "#", "<<", "@>", "&&", "->", "->>")
_LITERALS = ("'1'", "null", "1", "1.5", "99999999999", "'{1}'", "array[1.5]", "true", "$1")

_UNARY = ("- {}", "+ {}", "~ {}", "@ {}", "|/ {}", "||/ {}", "not {}", "{} is null", "{} is true", "{}[1]", "{}[1:2]")

_NAMES = """
abs ceil floor round trunc sign sqrt exp ln log pi lower upper length char_length octet_length substr concat left md5
reverse ascii chr to_hex date_trunc date_part age isfinite justify_days to_char to_date to_timestamp sum avg
min max count bool_and array_agg string_agg stddev array_length cardinality unnest array_append array_position
array_to_string string_to_array generate_series coalesce nullif greatest least div mod power gcd json_typeof
jsonb_typeof to_json quote_literal quote_ident split_part replace lpad starts_with encode bit_length width_bucket
make_date timezone row_to_json concat_ws format factorial scale bit_and int4 float8 text date bool timestamptz
"""
_FUNCTIONS = _NAMES.split()

_EXPRESSIONS = """
-2147483648
- 2147483649
1e10
1.50
123456789012345678901234567890
$1
$1::int
$1 + 1
$1 || 'a'
$1::int + $1
coalesce($1, 1)
coalesce($1, $2)
case when $1 then 1 else 2 end
case $1 when 1 then 2 end
array[$1, 1]
array[$1]
$2::int
$1 is null
substr($1, $2, $3)
nullif($1, 1)
($1, $2) = (1, 'a'::text)
greatest($1, 1.5)
$1 = any('{1,2}'::int[])
i4 = any($1)
i4 <> all($1)
tx = any($1)
i4 in ($1, $2)
i4 between $1 and $2
tx like $1
(select $1)
i4 in (select $1)
cast($1 as numeric(10,2))
$1::varchar(3)
interval '1 day' * $1
extract(year from $1)
$1 at time zone 'UTC'
ia[$1]
count($1)
concat($1)
-$1
$1 - $1
$1 < $2
$1::int < $1::int8
i4 + 'a'
1 + 'a'
'a' + 'b'
'a' < 'b'
i4 || i4
tx || i4
i4 || tx
array[1,2] || 3
array[1,2] || 2.5
3 || array[1,2]
array['a'] || 'b'
array[]
array[null]
array[]::int[]
array[1,2.5]
array[1,'2']
array[1,'a'::text]
array[d, ts]
array[d, tz, ts]
coalesce(1, 'a'::text)
coalesce(i4, n)
coalesce(n, f8)
coalesce(vc, tx)
coalesce(bp, vc)
coalesce(null, null)
case when b then 1 else 'a'::text end
case when b then i4 else n end
case when b then 1 end
case when i4 then 1 end
case i4 when 1 then 'a' when n then 'b' end
case tx when 1 then 2 end
nullif(i4, n)
nullif(1, 'a'::text)
nullif(null, 1)
greatest(i4, n, f8)
least(tx, 'a')
greatest(1, tx)
lower(1)
lower(distinct tx)
lower(tx order by tx)
lower(tx) filter (where b)
lower(tx) over ()
count()
count(*)
count(distinct i4)
count(*) filter (where i4)
count(*) filter (where b)
sum(tx)
sum('1')
sum(i2)
sum(i4)
sum(i8)
sum(f4)
sum(iv)
avg(i4)
avg(f4)
avg(iv)
min(bp)
max(na)
string_agg(tx)
string_agg(tx, ',' order by i4 desc)
string_agg(distinct tx, ',' order by i4)
array_agg(i4 order by tx)
array_agg(bp)
percentile_cont(0.5) within group (order by i4)
percentile_cont(0.5) within group (order by iv)
percentile_disc(0.5) within group (order by tx)
mode() within group (order by d)
percentile_cont(0.5)
sum(i4) within group (order by i4)
row_number() over ()
row_number()
rank() over (order by i4)
rank() over (order by js)
lag(i4) over (order by i4)
lag(i4, 1, 2.5) over (order by i4)
first_value(tx) over (partition by b order by i4 rows between 1 preceding and current row)
nth_value(n, 2) over ()
ntile(4) over (order by i4)
sum(i4) over (order by i4 rows 'a' preceding)
sum(i4) over (order by i4 rows between current row and 1 preceding)
sum(i4) over (order by i4 range 1 preceding)
sum(i4) over (order by i4, i8 range 1 preceding)
sum(i4) over (order by d range '1 day' preceding)
sum(i4) over (order by d range 1 preceding)
sum(i4) over (order by tx range 1 preceding)
sum(i4) over (groups 1 preceding)
sum(distinct i4) over ()
sum(sum(i4)) over ()
sum(row_number() over ()) over ()
sum(row_number() over ())
(i4, i8) = (1, 2)
(i4, i8) < (1, 2)
(i4, tx) < (1, 2)
(i4, i8) = (1, 2, 3)
(i4, i8) + (1, 2)
row() = row()
(i4, i8) in ((1, 2), (3, 4))
(i4, tx) in ((1, 2))
(i4, i8) is null
(i4, i8) is distinct from (1, 2)
i4 is distinct from 'a'
i4 is distinct from tx
i4 is not distinct from n
i4 in (1, 2.5)
i4 in (1, 'a')
i4 in ('1', '2')
tx in (1, 2)
tx in ('a', 'b')
bp in ('a', 'b')
d in ('2020-01-01', '2020-01-02')
i4 in (i8, n)
i4 in (select 1)
i4 in (select tx)
i4 in (select 1, 2)
(i4, i8) in (select 1)
(i4, i8) in (select 1, 2)
i4 = any(select 1.5)
i4 < all(select 1.5)
i4 = any(3)
i4 = any('{1,2}')
i4 = any(array[1,2.5])
i4 + any(array[1,2])
tx like any(array['a','b'])
exists(select 1)
(select 1, 2)
array(select 1)
array(select 'a')
not 5
5 and true
b or 'x'
b and 't'
b and null
5 is true
tx is true
'x' is unknown
tx like 1
1 like 2
tx like 'a!%' escape '!'
tx similar to 'a'
by like 'a'
na like 'a'
1::date
d::int
1::interval
'2020-13-01'::date
'abc'::int
'99999999999'::int
99999999999::int
'x'::bool
'12345'::numeric(3,1)
cast(1.5 as foo)
tx::varchar(3)
tx::char(3)
tx::char
'abc'::varchar(2)
n::numeric(5,1)
n::numeric
iv::interval day
ts::timestamp(3)
tz::time
tz::timetz
date '2020-01-01'
timestamp '2020-01-01 10:00'
timestamp with time zone '2020-01-01 10:00'
interval '1' month
interval '1-2' year to month
interval '1 day' * 2.5
time '10:00' + date '2020-01-01'
d + 1
d - 1
d - d
d + iv
d + tm
d - iv
ts - ts
ts - d
tz - tz
tz - ts
ts + iv
iv + ts
iv * 2
2 * iv
iv / 2
tm - tm
tm + iv
d < ts
d < tz
ts < tz
d < '2020-01-01'
d + 'a'
iv + 1
extract(year from d)
extract(foo from d)
date_part('year', ts)
ts at time zone 'UTC'
tz at time zone 'UTC'
ttz at time zone 'UTC'
d at time zone 'UTC'
current_date
current_time
current_timestamp
current_timestamp(3)
localtime
localtimestamp(2)
current_user
session_user
current_catalog
current_schema
now()
statement_timestamp()
pg_backend_pid()
pg_typeof(i4)
ia[1]
ia['1']
ia[tx]
ia[1:2]
ta[1]
tx[1]
jb['a']
jb[0]
(1).x
(row(1,2)).f1
(row(1,2)).f3
(x).i4
x.i4
x.nosuch
y.i4
nosuch
nosuch(1)
public.lower('a')
nosch.lower('a')
pg_catalog.lower('a')
1 operator(pg_catalog.+) 2
1 ### 2
tx collate "C"
i4 collate "C"
substring(tx from 1 for 2)
substring(tx from 'a')
substring(i4, 1)
position('a' in tx)
trim(both 'x' from tx)
trim(tx)
overlay(tx placing 'a' from 1)
overlay(tx placing 'a' from 1 for 2)
(d, d) overlaps (d, d)
js -> 'a'
js ->> 'a'
js -> 1
jb #> '{a}'
jb @> '{}'
jb ? 'a'
js = js
jb = jb
u = 'x'
u = u
by || by
o = 1
o + 1
na || 'x'
na = 'x'
vc = bp
bp = tx
bp || 'x'
f4 + f8
f4 + n
i4 + n
i2 + i2
i2 + 1
i8 + 1
i4 / 2
i4 % 2
f8 % 2
n % 2
i4 ^ 2
n ^ 2
5 / 2.0
- 'a'
- tx
@ i4
make_interval(days => 10)
make_interval(1, 2)
make_date(2020, 1, 1)
generate_series(1, 10)
generate_series(d, d, '1 day')
generate_series(1, 2.5)
unnest(ia)
unnest(array[1.5])
array_to_string(ia, ',')
array_length(ta, 1)
array_append(ia, 2.5)
array_append(ia, '2')
array_cat(ia, '{3}')
array_position(ta, 'a')
concat(1, 'a', null)
concat(variadic array['a'])
format('%s', 1)
round(n)
round(n, 1)
round(f8)
round(f8, 1)
round(i4)
abs('-1')
abs(tx)
power(2, 3)
power(n, 2)
sqrt(n)
sqrt(2)
mod(i4, 2)
mod(n, 2)
trunc(n)
ceil(n)
ceil(i4)
log(10)
div(n, 2)
to_char(i4, '999')
to_char(d, 'YYYY')
to_char('x', 'YYYY')
date_trunc('day', d)
date_trunc('day', ts)
date_trunc('day', '2020-01-01')
age(ts)
age(ts, ts)
age(d, d)
sum(i4) filter (where sum(i4) > 1)
sum(i4) over (order by i4 rows i8 preceding)
sum(i4) over (order by n range 'a' preceding)
first_value(i4) over (order by d range between '1 day' preceding and '1 month' following)
count(distinct js)
count(x.*)
max(js)
upper(null)
sum(null)
null + null
now() - '1 day'
now() - interval '1 day' > '2020-01-01'
d between '2020-01-01' and now()
i4 || 'x' || n
b || b
""".strip().splitlines()


class Oracle:
    """PostgreSQL's outcome for an expression over table `x`."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._pgconn = connection.pgconn
        columns = ", ".join(f"{name} {typ}" for name, typ in COLUMNS.items())
        connection.execute(f"create table x ({columns})")

    def outcome(self, expression: str) -> Outcome:
        prepared = self._pgconn.prepare(b"", f"select {expression} from x".encode())
        if prepared.status != psycopg.pq.ExecStatus.COMMAND_OK:
            return self._error(prepared)
        described = self._pgconn.describe_prepared(b"")
        return tuple(described.param_type(i) for i in range(described.nparams)), described.ftype(0)

    def _error(self, result: psycopg.pq.abc.PGresult) -> Outcome:
        def read(field: psycopg.pq.DiagnosticField) -> str:
            return (result.error_field(field) or b"").decode()

        position = read(psycopg.pq.DiagnosticField.STATEMENT_POSITION)
        return (
            read(psycopg.pq.DiagnosticField.SQLSTATE),
            read(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY),
            int(position) if position else None,
        )


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer) -> Iterator[Oracle]:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("create schema expressions; set search_path = expressions")
        yield Oracle(connection)
        connection.execute("drop schema expressions cascade")


def our_outcome(expression: str) -> Outcome:
    ground = Ground()
    try:
        bound = ground.bind(expression)
        return tuple(p.oid for p in ground.parameters.finish()), bound.type.pg.oid
    except SqlError as error:
        return error.sqlstate, error.message, error.position


def compare(oracle: Oracle, expressions: Iterable[str]) -> None:
    found = []
    for expression in expressions:
        theirs, ours = oracle.outcome(expression), our_outcome(expression)
        if ours != theirs and ours[0] != "0A000":
            found.append(f"{expression}: PostgreSQL {theirs}, Sluice {ours}")
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:60])


def test_expressions(oracle: Oracle) -> None:
    compare(oracle, _EXPRESSIONS)


@pytest.mark.table
@pytest.mark.parametrize("symbol", _OPERATORS)
def test_every_pair_of_operands(oracle: Oracle, symbol: str) -> None:
    operands = [*COLUMNS, *_LITERALS]
    pairs = itertools.product(operands, operands)
    compare(oracle, (f"{a} {symbol} {b}" for a, b in pairs))


@pytest.mark.parametrize("form", _UNARY)
def test_every_operand(oracle: Oracle, form: str) -> None:
    compare(oracle, (form.format(a) for a in [*COLUMNS, *_LITERALS]))


def test_every_cast(oracle: Oracle) -> None:
    targets = [t for t in COLUMNS.values() if t != "name"]
    casts = (f"{a}::{target}" for a, target in itertools.product(COLUMNS, targets))
    compare(oracle, casts)


@pytest.mark.table
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_every_argument(oracle: Oracle, name: str) -> None:
    # That json has no order is said here when the statement is read, there when it is run.
    unordered = ["js"] if name in ("greatest", "least") else []
    single = (f"{name}({a})" for a in [*COLUMNS, *_LITERALS] if a not in unordered)
    operands = ["i4", "n", "f8", "tx", "d", "ts", "iv", "ia", "jb", "b", "'1'", "null"]
    double = (f"{name}({a}, {b})" for a, b in itertools.product(operands, operands))
    compare(oracle, itertools.chain(single, double))


@pytest.mark.parametrize("what", ["case when b then {} else {} end", "coalesce({}, {})", "array[{}, {}]"])
def test_every_common_type(oracle: Oracle, what: str) -> None:
    operands = [*COLUMNS, *_LITERALS]
    pairs = itertools.product(operands, operands)
    compare(oracle, (what.format(a, b) for a, b in pairs))

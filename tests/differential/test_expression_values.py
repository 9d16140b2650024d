"""Expressions bound, compiled, run on the local engine and encoded: the text that PostgreSQL 15 sends for each.

This compares the binder's own work: literals, constant folding, rewritten predicates, rows, arrays, special syntax. The
function table's rows have their own tests.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
import pytest_asyncio
from support.expression_ground import Ground
from support.postgres_server import PostgresServer

from engine.contracts.executor import ExecutionContext
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import EngineConfig
from engine.executors.local.executor import LocalExecutor
from engine.plan_ir.logical import Evaluator, Values
from engine.planner.codegen import Bindings, compile_plan
from wire.errors import SqlError
from wire.pg.datarow import EncodedColumn, RowEncoder
from wire.types.text_settings import OutputSettings

pytestmark = [pytest.mark.postgres, pytest.mark.asyncio(loop_scope="module")]

_NOW = 1_600_000_000_000_000
_CONTEXT = {"now": _NOW, "statement_timestamp": _NOW, "current_user": "postgres", "session_user": "postgres"}

EXPRESSIONS = """
1.50
-2147483648
1e3
'it''s'
E'a\\nb'
coalesce(null, 1)
coalesce(1, 2.5)
coalesce(null::int, null)
case when true then 1 else 2.5 end
case 2 when 1 then 'a' when 2 then 'b' end
case null when null then 1 else 2 end
nullif(1, 1)
nullif(1, 2.0)
(1, 2) is null
(null, 2) is not null
(null, null) is null
not (null, 2) is null
true and null
false and null
true or null
null is unknown
null::bool is true
null::bool is not false
null is distinct from null
1 is distinct from null
1 is not distinct from 1
(1, null) is distinct from (1, null)
(1, null) is distinct from (1, 2)
5 in (1, 5)
5 in (1, null)
5 not in (1, null)
5 in (1, 2.5, 5.0)
(1, 2) in ((1, 2), (3, 4))
(1, 2) not in ((1, 3), (3, null))
5 = any(array[1, 5])
5 = any('{1,2,null}')
5 = any(null::int[])
5 <> all(array[1, null])
5 = all(array[5, null])
5 > all('{1,2,3}'::int[])
5 < any(array[1, 9.5])
'abc' like 'a%'
'abc' not like 'a_'
'a%c' like 'a!%c' escape '!'
'abc' like 'a!%c' escape '!'
'ABC' ilike 'a%'
'abc' like any(array['x%', 'a%'])
'x'::char(3) = 'x'
'x  '::char(3) in ('x', 'y')
'x'::char(3) is distinct from 'x  '::char(5)
'abc'::varchar(2)
'abc'::char(5) || '|'
'{abc,defg}'::varchar(2)[]
1::text
1.10::text
true::text
1.256::numeric(5,2)
(-1.255)::numeric(5,2)
2.5::int
(-2.5)::int
array[1, 2]::numeric[]
array[1.234]::numeric(5,2)[]
array[1, 2.5]
array_append(array[1], 2.5)
(array[1, 2, 3])[2]
(array[1, 2, 3])[5]
(array[1, 2, 3])[2:3]
(array[1, 2, 3])[:2]
(row(1, 'a'::text)).f2
exists(select 1)
(select 5)
array(select 1)
1 in (select 1)
null in (select 1)
1 not in (select 2)
1 < any(select 2)
1 > all(select 2)
(1, 2) in (select 1, 2)
interval '1 day' in ('24:00:00')
interval '1 day' is distinct from '24:00:00'
interval '1-2' year to month
interval '90' minute
(1, 2) < (1, 3)
(1, null) < (1, 3)
(1, null) < (2, 3)
(1, 2) >= (1, 2)
(1, 2) = (1, null)
(2, 2) = (1, null)
(2, 2) <> (1, null)
1 between symmetric 3 and 0
2 between 1 and null
0 between 1 and null
'a' between 'a' and 'b'
'2020-01-01'::date
'2020-01-01'::date < '2020-01-01 10:00'::timestamp
'1999-01-08 04:05:06.789'::timestamp(1)
substring('hello' from 2 for 3)
position('l' in 'hello')
overlay('hello' placing 'XX' from 2 for 3)
trim(both 'x' from 'xxhixx')
extract(year from date '2020-05-06')
timestamp '2020-01-01 00:00' at time zone 'America/New_York'
pg_typeof(1)
pg_typeof(array['a'])
'int4'::regtype
make_interval(days => 10, hours => 3)
concat(variadic array['a', 'b'])
'abc' collate "C" < 'abd'
uuid 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'
'\\x01ff'::bytea
1/0
'2020-02-30'::date
'abc'::int
12345.6::numeric(5,2)
""".strip().splitlines()


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("set timezone = 'UTC'")
        yield connection


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalExecutor]:
    executor = LocalExecutor(EngineConfig(tmp_path_factory.mktemp("data")))
    await executor.start()
    yield executor
    await executor.close()


def theirs(oracle: psycopg.Connection[tuple[object, ...]], expression: str) -> str | None:
    result = oracle.pgconn.exec_(f"select {expression}".encode())
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        return "error " + (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()
    value = result.get_value(0, 0)
    return None if value is None else value.decode()


async def ours(local: LocalExecutor, expression: str) -> str | None:
    try:
        return await _run(local, expression)
    except SqlError as error:
        return f"error {error.sqlstate}"


async def _run(local: LocalExecutor, expression: str) -> str | None:
    ground = Ground()
    bound = ground.binder.as_output(ground.bind(expression))
    column = ground.context.new_column("value", bound.type)
    plan = Evaluator((column,), Values((), ((),)), (bound,))
    fragment = compile_plan(plan, "local", Bindings(context=_CONTEXT))
    stream = await local.open(fragment, ExecutionContext(QueryId("m1", 1)))
    try:
        batch = await stream.next_batch()
    finally:
        await stream.close()
    typ = bound.type
    encoder = RowEncoder(
        [EncodedColumn(typ.pg, typ.typmod, typ.display, typ.minimum)], [0], OutputSettings(time_zone="UTC")
    )
    assert batch is not None
    data = bytes(encoder.encode(batch))
    (length,) = struct.unpack_from("!i", data, 7)
    return None if length < 0 else data[11 : 11 + length].decode()


@pytest.mark.parametrize("expression", EXPRESSIONS)
async def test_value(expression: str, oracle: psycopg.Connection[tuple[object, ...]], local: LocalExecutor) -> None:
    assert await ours(local, expression) == theirs(oracle, expression)

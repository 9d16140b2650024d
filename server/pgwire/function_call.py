"""The FunctionCall message ("fast path"): one built-in function by its OID, with arguments in text or binary.

libpq's PQfn sends it, mostly for large objects, whose functions do not exist here. Any other function is answered by a
query that calls it: pg_proc, as the client sees it, gives the function of the OID.

Source: PostgreSQL 15, 55.2.5 "Function Call"; fastpath.c (fetch_fp_info, parse_fcall_arguments, HandleFunctionRequest).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.contracts.sessions import Execution
from engine.sql.parser.nodes.statements import Query
from server.cursors.portal import Portal
from server.cursors.prepared import Command
from server.pgwire.exchange_of_messages import Exchange
from server.pgwire.results import require_known, row_encoder, spread_formats
from server.session.arguments import canonical
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, SqlError, UndefinedFunction
from wire.pg import messages as m
from wire.pg.values import decode_parameter
from wire.types import pg_types as t

_LOOK_UP: Final = """
select proname, proargtypes::oid[], prokind = 'f' and not proretset, proisstrict from pg_catalog.pg_proc where oid = $1
"""
_FORMATS: Final = "function call message contains {} argument formats but {} arguments"
#: The bytes of a one-column DataRow before the value's length: type, length and number of columns.
_HEAD_BYTES: Final = 7


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    arguments: tuple[t.PgType, ...]
    strict: bool


async def function_call(exchange: Exchange, message: m.FunctionCall) -> None:
    """Answer a FunctionCall, up to but without ReadyForQuery. Raises SqlError."""
    commands = exchange.commands
    commands.block.require_usable()
    exchange.begin("")
    function = await _function(exchange, message.oid)
    arguments = _arguments(exchange, message, function)
    value = None
    if not (function.strict and None in arguments):
        value = await _call_function(exchange, function, arguments, message.result_format)
    exchange.stop_clock()
    await commands.transaction.finish_statement()
    exchange.send(m.FunctionCallResponse(value))


async def _function(exchange: Exchange, oid: int) -> _Function:
    """Find the function of an OID. Raises UndefinedFunction, and FeatureNotSupported if it is not a plain function of
    supported types.
    """
    engine = exchange.commands.engine
    [statement] = await engine.parse(_LOOK_UP)
    prepared = await engine.prepare(statement, (t.OID.oid,))
    found = await _one_row(await engine.execute(prepared, (oid,)))
    if found is None:
        raise UndefinedFunction(f"function with OID {oid} does not exist")
    name, oids, plain, strict = found
    assert isinstance(oids, list)
    types = tuple(t.BY_OID[number] for number in oids if number in t.BY_OID)
    if not plain or len(types) < len(oids):
        raise FeatureNotSupported(f'cannot call function "{name}" via fastpath interface')
    return _Function(str(name), types, bool(strict))


async def _one_row(execution: Execution) -> tuple[object, ...] | None:
    try:
        batch = await execution.stream.next_batch()
    finally:
        await execution.close()
    return tuple(canonical(column)[0] for column in batch.columns) if batch is not None and batch.num_rows else None


def _arguments(exchange: Exchange, message: m.FunctionCall, function: _Function) -> tuple[object, ...]:
    given, wanted = len(message.arguments), len(function.arguments)
    if given != wanted:
        raise SqlError(
            f"function call message contains {given} arguments but function requires {wanted}", sqlstate="08P01"
        )
    formats = spread_formats(message.formats, given, _FORMATS)
    require_known(formats)
    settings = exchange.settings.input(exchange.now_micros)
    return tuple(
        None if value is None else decode_parameter(pg, form, value, settings)
        for pg, form, value in zip(function.arguments, formats, message.arguments, strict=True)
    )


async def _call_function(
    exchange: Exchange, function: _Function, arguments: Sequence[object], result_format: int
) -> bytes | None:
    engine = exchange.commands.engine
    parameters = [exp.Parameter(this=exp.Literal.number(i)) for i in range(1, len(arguments) + 1)]
    call = exp.Anonymous(this=function.name, expressions=parameters, schema="pg_catalog")
    # The engine identifies a statement by its text.
    query = Query(text=f"-- {function.name}: {function.arguments}", tree=exp.select(call))
    prepared = await engine.prepare(query, [pg.oid for pg in function.arguments])
    assert prepared.columns is not None
    encoder = row_encoder(prepared.columns, (result_format,), exchange.settings.now.output)
    portal = Portal("", Command(query, prepared), prepared.columns, arguments=tuple(arguments))
    await exchange.open(portal)
    assert portal.execution is not None
    batch = await portal.execution.stream.next_batch()
    exchange.active = None
    await portal.close()
    assert batch is not None, "a SELECT without FROM gives one row"
    row = bytes(encoder.encode(batch))
    (length,) = struct.unpack_from("!i", row, _HEAD_BYTES)
    return None if length < 0 else row[_HEAD_BYTES + 4 :]

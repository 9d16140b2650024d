"""Functions with side effects that are called for each row of a query: `select setval('s', max(id)) from t`.

No engine can run them (`engine.session.context.functions`). If such a call is an item of the outermost select list, the
query returns its arguments instead, as columns after its own, and the call is made when the rows arrive at the
initiator, in their order. So it is made for the rows that are fetched, as by a portal in PostgreSQL, and for the other
rows of their batch. A call that waits for other members is made this way even for the one row of `select f()`, because
only here may a thread wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream, engine_of
from engine.plan_ir.expr import Call, Column, Const, Expr
from engine.plan_ir.logical import Evaluator, Root
from engine.plan_ir.rewrite import walk_all
from engine.plan_ir.select_list import has_one_row, requirements, select_list, with_select_list
from engine.session.context import advisory_functions, functions
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.session.context.session_state import SessionState


Pool = Callable[[Callable[[], Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RowCall:
    """A call that is made for each row. place: the position of its column. arguments: each is the position of a column,
    or a constant.
    """

    place: int
    call: Call
    arguments: tuple[int | Expr, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A plan without the calls that are made for its rows. width: the number of columns that the client receives."""

    plan: Root
    calls: tuple[RowCall, ...]
    width: int


def split(plan: Root) -> Split:
    """Split a plan into the part that engines run and the calls that are made on its rows."""
    width = len(plan.columns)
    top = select_list(plan)
    if top is None:
        return Split(plan, (), width)
    places = {column.id: place for place, column in enumerate(plan.columns)}
    keys = {key.column.id for order in requirements(plan) for key in order}
    fresh = count(1 + max(column.id for node in walk_all(plan) for column in node.columns))
    emit, added, calls = list(top.emit), list[tuple[Column, Expr]](), list[RowCall]()
    for index, (column, expr) in enumerate(zip(top.columns, top.emit, strict=True)):
        if column.id in keys or column.id not in places or not _is_made_for_rows(expr, top):
            continue
        assert isinstance(expr, Call)
        emit[index] = Const(expr.type, None)
        arguments: list[int | Expr] = []
        for argument in expr.args:
            if functions.is_constant(argument):
                arguments.append(argument)
                continue
            arguments.append(width + len(added))
            added.append((Column(next(fresh), "argument", argument.type), argument))
        calls.append(RowCall(places[column.id], expr, tuple(arguments)))
    if not calls:
        return Split(plan, (), width)
    columns = tuple(column for column, _ in added)
    changed = Evaluator((*top.columns, *columns), top.input, (*emit, *(expr for _, expr in added)), top.filter)
    rebuilt = with_select_list(plan, changed, added=columns)
    assert isinstance(rebuilt, Root)
    return Split(rebuilt, tuple(calls), width)


def _is_made_for_rows(expr: Expr, node: Evaluator) -> bool:
    if not isinstance(expr, Call) or not functions.may_be_for_rows(expr):
        return False
    return functions.awaits_members(expr) or not has_one_row(node) or not all(map(functions.is_constant, expr.args))


class RowCallStream:
    """A `BatchStream` of another one's rows, in which the calls' columns are filled in. pool: runs calls that block."""

    def __init__(
        self, stream: BatchStream, made: Split, session: SessionState, parameters: Mapping[int, Any], pool: Pool
    ) -> None:
        self._stream = stream
        self._made = made
        self._session = session
        self._parameters = parameters
        self._pool = pool

    @property
    def engine_name(self) -> str | None:
        return engine_of(self._stream)

    async def next_batch(self) -> pa.RecordBatch | None:
        batch = await self._stream.next_batch()
        if batch is None:
            return None
        columns = list(batch.columns[: self._made.width])
        for call in self._made.calls:
            columns[call.place] = await self._values(call, batch)
        schema = pa.schema([batch.schema.field(place) for place in range(self._made.width)])
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    async def _values(self, made: RowCall, batch: pa.RecordBatch) -> pa.Array:
        session, name, typ = self._session, made.call.function.name, batch.schema.field(made.place).type
        if name == "nextval" and not isinstance(made.arguments[0], int):
            oid = functions.constant(session, made.call, made.arguments[0], self._parameters)
            if oid is not None:
                return pa.array(await self._pool(partial(functions.next_values, session, oid, batch.num_rows)), typ)
        arguments = [self._argument(made.call, argument, batch) for argument in made.arguments]
        rows = list(zip(*arguments, strict=True)) if arguments else [()] * batch.num_rows
        if name in advisory_functions.WAITING:
            values = []
            for row in rows:
                await advisory_functions.wait(session, name, list(row))
                values.append(functions.call_function(session, name, row))
        elif name in functions.BLOCKING:
            values = await self._pool(partial(_each, session, name, rows))
        else:
            values = _each(session, name, rows)
        return pa.array(values, typ)

    def _argument(self, call: Call, argument: int | Expr, batch: pa.RecordBatch) -> Sequence[Any]:
        if isinstance(argument, int):
            values: list[Any] = batch.column(argument).to_pylist()
            return values
        return [functions.constant(self._session, call, argument, self._parameters)] * batch.num_rows

    async def close(self) -> None:
        await self._stream.close()

    def statistics(self) -> Mapping[str, int]:
        return self._stream.statistics()


def _each(session: SessionState, name: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
    return [functions.call_function(session, name, row) for row in rows]

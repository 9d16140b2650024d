"""Rows of the function table evaluated three times: by DuckDB, by Spark and by PostgreSQL 15.

A question is an expression over a column `x` of a type, and one of the values that the column may have. PostgreSQL's
answer is the text that it would send, or its SQLSTATE; ours is the encoder's output for the engine's batch. All
questions that PostgreSQL answers go to an engine as one row of many columns; if the row fails, it is halved until the
failing question is found. The questions that PostgreSQL refuses go one by one, because an error ends a statement.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import psycopg
import pyarrow as pa
from support.expression_ground import Ground

from engine.common.sql_type import SqlType
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.query_id import EngineName, QueryId
from engine.executors.executor import Executor
from engine.plan_ir.expr import Column, ColumnRef, Const, Expr
from engine.plan_ir.logical import Evaluator, Values
from engine.planner.codegen import Bindings, compile_plan
from engine.sql.binder.scope import Source, SourceColumn, Sources
from engine.sql.trees.unsupported import Unsupported
from wire.errors import SqlError
from wire.pg.datarow import EncodedColumn, RowEncoder
from wire.types.text_settings import OutputSettings

Oracle = psycopg.Connection[tuple[object, ...]]
#: What came of a question: a text, null, or `error <SQLSTATE>`.
Answer = str | None


def is_error(answer: Answer) -> bool:
    return answer is not None and answer.startswith("error ")


ZONE = "America/St_Johns"
_NOW = 1_600_000_000_000_000
_CONTEXT = {"now": _NOW, "statement_timestamp": _NOW, "current_user": "postgres", "session_user": "postgres"}
_BATCH = 120


@dataclass(frozen=True, slots=True)
class Question:
    """expression: of `x`. type: x's, as SQL spells it. value: x's text, or None for null."""

    expression: str
    type: str
    value: str | None

    def __str__(self) -> str:
        said = "null" if self.value is None else repr(self.value)
        return f"{self.expression}  [x: {self.type} = {said}]"


def questions(table: str) -> Iterator[Question]:
    """Questions of a text: `type | value | value ...` begins a block, the lines after it are its expressions.

    `\\N` is null; every block is asked for null too. An empty line ends a block.
    """
    head: list[str] = []
    for line in (line.strip() for line in table.strip().splitlines()):
        if not line:
            head = []
        elif not head:
            head = [part.strip(" ") for part in line.split("|")]
        else:
            typ, *values = head
            yield from (Question(line, typ, value) for value in (*map(_unescaped, values), None))


def _unescaped(value: str) -> str:
    return value.removeprefix("'").removesuffix("'")


def _literal(question: Question) -> str:
    value = "null" if question.value is None else "'{}'".format(question.value.replace("'", "''"))
    return f"{value}::{question.type}"


def ask_postgres(oracle: Oracle, question: Question) -> Answer:
    text = f"select {question.expression} from (values ({_literal(question)})) v(x)"
    result = oracle.pgconn.exec_(text.encode())
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        return "error " + (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()
    value = result.get_value(0, 0)
    return None if value is None else value.decode()


class Engine:
    """One engine, asked through the binder, the compiler and the encoder."""

    def __init__(self, name: EngineName, executor: Executor) -> None:
        self.name = name
        self._executor = executor
        self._ids = iter(range(1, 1_000_000))

    async def answers(self, asked: Sequence[Question], *, refused: Iterable[int] = ()) -> list[Answer]:
        """The answers, in order. `refused`: the questions to be asked alone, since they are expected to fail."""
        alone = set(refused)
        together = [i for i in range(len(asked)) if i not in alone]
        answers: dict[int, Answer] = {}
        for start in range(0, len(together), _BATCH):
            await self._halve(asked, together[start : start + _BATCH], answers)
        for i in alone:
            await self._halve(asked, [i], answers)
        return [answers[i] for i in range(len(asked))]

    async def _halve(self, asked: Sequence[Question], these: Sequence[int], answers: dict[int, Answer]) -> None:
        try:
            answers.update(zip(these, await self._run([asked[i] for i in these]), strict=True))
        except (SqlError, Unsupported) as error:
            if len(these) == 1:
                answers[these[0]] = _said(error)
                return
            middle = len(these) // 2
            await self._halve(asked, these[:middle], answers)
            await self._halve(asked, these[middle:], answers)

    async def _run(self, asked: Sequence[Question]) -> list[Answer]:
        ground = Ground()
        given: list[tuple[Column, Const]] = []
        emit = tuple(_bound(ground, question, given) for question in asked)
        columns = tuple(ground.context.new_column("value", expr.type) for expr in emit)
        row = Values(tuple(column for column, _ in given), (tuple(value for _, value in given),))
        plan = Evaluator(columns, row, emit)
        fragment = compile_plan(plan, self.name, Bindings(context=_CONTEXT))
        context = ExecutionContext(QueryId("m1", next(self._ids)), time_zone=ZONE)
        stream = await self._executor.open(replace(fragment, small=True), context)
        try:
            batches = [batch async for batch in _batches(stream)]
        finally:
            await stream.close()
        types = [expr.type for expr in emit]
        return decoded(types, bytes(_encoder(types).encode(batches[0])))


def _said(error: SqlError | Unsupported) -> str:
    if isinstance(error, Unsupported):
        return "error 0A000"
    return f"error {error.sqlstate}" + (f": {error.message}" if error.sqlstate == "XX000" else "")


async def _batches(stream: BatchStream) -> AsyncIterator[pa.RecordBatch]:
    """All batches that have rows: a stream that is read to its end leaves nothing to interrupt."""
    while (batch := await stream.next_batch()) is not None:
        if batch.num_rows:
            yield batch


def _bound(ground: Ground, question: Question, given: list[tuple[Column, Const]]) -> Expr:
    """The question's expression over a column that has its value."""
    value = ground.bind(_literal(question))
    assert isinstance(value, Const), f"not a constant: {_literal(question)}"
    column = ground.context.new_column("x", value.type)
    given.append((column, value))
    scope = ground.scope
    source = Source("v", (SourceColumn("x", ColumnRef(value.type, column)),))
    scope.sources = Sources([source])
    scope.known[:] = [source]
    output: Expr = ground.binder.as_output(ground.bind(question.expression))
    return output


def _encoder(types: Sequence[SqlType]) -> RowEncoder:
    columns = [EncodedColumn(typ.pg, typ.typmod, typ.display, typ.minimum) for typ in types]
    return RowEncoder(columns, [0] * len(types), OutputSettings(time_zone=ZONE))


def decoded(types: Sequence[SqlType], row: bytes) -> list[Answer]:
    """The fields of the first DataRow of a stream."""
    answers: list[Answer] = []
    at = 7
    for _ in types:
        (length,) = struct.unpack_from("!i", row, at)
        at += 4
        answers.append(None if length < 0 else row[at : at + length].decode())
        at += max(length, 0)
    return answers


__all__ = ["Engine", "Question", "ask_postgres", "questions"]

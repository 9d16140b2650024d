"""A small engine over DuckDB for tests of the server alone: real statements, real streams, real cancellation.

It implements `engine.session.engine_session.EngineSession` with PostgreSQL's parser and settings and DuckDB's SQL and
types. It counts what is open, so that a test can assert that nothing was left behind.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from engine.common.sql_type import SqlType, numeric
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import Copies, CopyProgress
from engine.contracts.progress import Progress
from engine.contracts.query_id import QueryId
from engine.contracts.session_settings import Settings
from engine.contracts.sessions import Client, Execution, Prepared, ResultColumn
from engine.monitor.record import StatementRecord
from engine.settings.session_settings import SessionSettings
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyTo
from engine.sql.parser.parse import parse
from engine.statements.copy.copy_to import CopyToExecution
from engine.statements.copy.options import copy_format
from wire.errors import (
    DivisionByZero,
    InternalError,
    InvalidSavepointSpecification,
    Notice,
    QueryCanceled,
    SqlError,
    UndefinedColumn,
    UndefinedTable,
)
from wire.types import pg_types as t
from wire.types.carriers import carrier

_NUMBERS = itertools.count(1)
_TYPES = {
    pa.bool_(): t.BOOL, pa.int16(): t.INT2, pa.int32(): t.INT4, pa.int64(): t.INT8, pa.int8(): t.INT2,
    pa.float32(): t.FLOAT4, pa.float64(): t.FLOAT8, pa.utf8(): t.TEXT, pa.binary(): t.BYTEA, pa.date32(): t.DATE,
    pa.timestamp("us"): t.TIMESTAMP,
}  # fmt: skip


def _sql_type(arrow: pa.DataType) -> SqlType:
    if pa.types.is_decimal(arrow):
        return numeric(arrow.precision, arrow.scale)
    if arrow in _TYPES:
        return SqlType(_TYPES[arrow])
    return SqlType(t.TEXT)


def _translate(error: duckdb.Error) -> SqlError:
    text = str(error)
    if isinstance(error, duckdb.InterruptException):
        return QueryCanceled("interrupted")
    if "Division by zero" in text or "divide by zero" in text:
        return DivisionByZero("division by zero")
    if isinstance(error, duckdb.CatalogException):
        return UndefinedTable(text.splitlines()[0], position=1)
    if isinstance(error, duckdb.BinderException):
        return UndefinedColumn(text.splitlines()[0])
    return InternalError(text.splitlines()[0])


class Counters:
    """Counts of what is open now, and a log of what has happened, over all sessions of an engine."""

    def __init__(self) -> None:
        self.sessions = self.executions = self.transactions = self.interrupted = 0
        self.log: list[str] = []


class Stream:
    """The batches of one query (`engine.contracts.batch_stream.BatchStream`)."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, columns: Sequence[ResultColumn], counters: Counters) -> None:
        self._cursor: duckdb.DuckDBPyConnection | None = cursor
        self._columns = columns
        self._counters = counters
        self._reader: Any = None
        self._pull: asyncio.Future[Any] | None = None
        self.rows = 0
        counters.executions += 1

    async def open(self, sql: str, rows_per_batch: int) -> None:
        try:
            self._reader = await self._in_thread(lambda: self._started(sql, rows_per_batch))
        except BaseException:
            await self.close()
            raise

    def _started(self, sql: str, rows_per_batch: int) -> Any:
        assert self._cursor is not None
        return self._cursor.sql(sql).to_arrow_reader(rows_per_batch)

    async def _in_thread(self, work: Any) -> Any:
        self._pull = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            return await asyncio.shield(self._pull)
        except duckdb.Error as error:
            raise _translate(error) from None

    def _read(self) -> pa.RecordBatch | None:
        try:
            return self._reader.read_next_batch()
        except StopIteration:
            return None

    async def next_batch(self) -> pa.RecordBatch | None:
        assert self._reader is not None, "the stream was closed"
        try:
            batch = await self._in_thread(self._read)
        except OSError as error:
            raise _translate(duckdb.Error(str(error))) from None
        if batch is None:
            return None
        self.rows += batch.num_rows
        arrays = [
            array.cast(carrier(column.type.pg, column.type.scale))
            for array, column in zip(batch.columns, self._columns, strict=True)
        ]
        if not arrays:
            return batch
        return pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self._columns])

    async def close(self) -> None:
        cursor, self._cursor = self._cursor, None
        if cursor is None:
            return
        if self._pull is not None and not self._pull.done():
            self._counters.interrupted += 1
            while not self._pull.done():
                cursor.interrupt()
                await asyncio.wait([self._pull], timeout=0.01)
        if self._pull is not None:
            self._pull.exception()
        self._reader = None
        cursor.close()
        self._counters.executions -= 1

    def statistics(self) -> Mapping[str, int]:
        return {"rows": self.rows, "bytes": 0, "batches": 0}


class Empty:
    async def next_batch(self) -> pa.RecordBatch | None:
        return None

    async def close(self) -> None: ...

    def statistics(self) -> Mapping[str, int]:
        return {}


class Values(Empty):
    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch: pa.RecordBatch | None = batch

    async def next_batch(self) -> pa.RecordBatch | None:
        batch, self._batch = self._batch, None
        return batch


class Running:
    """One execution (`engine.contracts.sessions.Execution`)."""

    def __init__(
        self, columns: tuple[ResultColumn, ...] | None, stream: BatchStream, word: str, *, counted: bool = False
    ) -> None:
        self.columns = columns
        self.stream = stream
        self.query = QueryId("m1", next(_NUMBERS)) if word == "SELECT" else None
        self._word = word
        self._counted = counted

    def tag(self, rows: int) -> str:
        return f"{self._word} {rows}" if self._counted else self._word

    async def close(self) -> None:
        await self.stream.close()


class DuckSession:
    """One client's session (`engine.session.engine_session.EngineSession`)."""

    def __init__(self, engine: DuckEngine, user: str, options: Mapping[str, str], client: Client) -> None:
        values = SessionSettings(options)
        values.fix("session_authorization", user)
        self.settings: Settings = values
        self._values = values
        self.client = client
        self.record: StatementRecord | None = None
        self._engine = engine
        self._savepoints: list[tuple[str, int]] = []
        engine.counters.sessions += 1

    def new_query_id(self) -> QueryId:
        return QueryId("m1", next(_NUMBERS))

    async def parse(self, sql: str) -> Sequence[s.Statement]:
        return parse(sql, lambda message: self.client.notice(Notice(message)))

    async def prepare(self, statement: s.Statement, parameter_types: Sequence[int]) -> Prepared:
        match statement:
            case s.Query():
                parameters = _parameters(_text(statement), parameter_types)
                columns = self._describe(_text(statement), parameters)
                return Prepared(statement, parameters, columns)
            case s.ShowVariable():
                return Prepared(statement, (), (ResultColumn(statement.name, SqlType(t.TEXT)),))
            case s.Explain(inner=s.Query() as query):
                return Prepared(statement, _parameters(query.text, parameter_types), (_PLAN,))
        return Prepared(statement, (), None)

    def _describe(self, text: str, parameters: Sequence[t.PgType]) -> tuple[ResultColumn, ...]:
        sql = _substitute(text, [f"NULL::{_duck_name(pg)}" for pg in parameters])
        with self._engine.database.cursor() as cursor:
            try:
                schema = cursor.sql(f"select * from ({sql}\n) limit 0").to_arrow_table().schema
            except duckdb.Error as error:
                raise _translate(error) from None
        return tuple(ResultColumn(f.name, _sql_type(f.type)) for f in schema)

    async def execute(self, prepared: Prepared, arguments: Sequence[Any], *, single: bool = False) -> Execution:
        match prepared.statement:
            case s.Query() as query:
                return await self._query(_text(query), prepared, arguments)
            case s.ShowVariable(name=name):
                batch = pa.record_batch([[self.settings.get(name)]], names=[name])
                return Running(prepared.columns, Values(batch), "SHOW")
            case s.Explain():
                assert len(arguments) == len(prepared.parameters)
                batch = pa.record_batch([["a plan"]], names=["QUERY PLAN"])
                return Running(prepared.columns, Values(batch), "EXPLAIN")
            case s.SetVariable(name=name, value=value, local=local):
                self.settings.set(name, value, local=local)
                return Running(None, Empty(), "SET")
            case s.ResetVariable(name=name):
                self.settings.reset_all() if name == "all" else self.settings.set(name, None)
                return Running(None, Empty(), "RESET")
            case s.CreateSchema(name=name):
                self.client.notice(Notice(f'schema "{name}" made'))
                return Running(None, Empty(), "CREATE SCHEMA")
        raise InternalError(f"the test engine has no {type(prepared.statement).__name__}")

    def copy_rows(self, statement: CopyTo, rows: Execution) -> Execution:
        form = copy_format(statement, [column.name for column in rows.columns or ()])
        return CopyToExecution(rows, form, None, Copies(), CopyProgress(1, "sluice", 0, "COPY TO", "PIPE"))

    async def progress(self) -> Progress:
        return Progress()

    def takes_rows(self, prepared: Prepared) -> bool:
        return False

    async def execute_rows(self, prepared: Prepared, rows: Sequence[Sequence[Any]]) -> bool:
        raise InternalError("the test engine inserts no rows")

    async def _query(self, text: str, prepared: Prepared, arguments: Sequence[Any]) -> Execution:
        assert prepared.columns is not None
        if match := re.search(r"tell_from_thread\('(\w+)'\)", text):
            await asyncio.get_running_loop().run_in_executor(None, self.client.notice, Notice(match[1]))
            text = text.replace(match[0], "1")
        if "boom()" in text:
            raise ZeroDivisionError("an error that the engine did not foresee")
        sql = _substitute(text, [_literal(v, pg) for v, pg in zip(arguments, prepared.parameters, strict=True)])
        stream = Stream(self._engine.database.cursor(), prepared.columns, self._engine.counters)
        await stream.open(sql, self._engine.rows_per_batch)
        running = Running(prepared.columns, stream, "SELECT", counted=True)
        if self.record is not None:
            running.query = self.record.next_query()
        return running

    def begin(self) -> None:
        self._engine.counters.transactions += 1
        self._log("begin")
        self._values.begin()
        self._savepoints = []

    async def commit(self) -> None:
        self._log("commit")
        self._engine.counters.transactions -= 1
        self._values.commit()

    async def rollback(self) -> None:
        self._log("rollback")
        self._engine.counters.transactions -= 1
        self._values.rollback()

    def savepoint(self, name: str) -> None:
        self._log(f"savepoint {name}")
        self._savepoints.append((name, self._values.savepoint()))

    async def rollback_to(self, name: str) -> None:
        self._log(f"rollback to {name}")
        index = self._find(name)
        self._values.rollback_to(self._savepoints[index][1])
        del self._savepoints[index + 1 :]

    def release(self, name: str) -> None:
        self._log(f"release {name}")
        index = self._find(name)
        self._values.release(self._savepoints[index][1])
        del self._savepoints[index:]

    def _find(self, name: str) -> int:
        for index in reversed(range(len(self._savepoints))):
            if self._savepoints[index][0] == name:
                return index
        raise InvalidSavepointSpecification(f'savepoint "{name}" does not exist')

    def _log(self, event: str) -> None:
        self._engine.counters.log.append(event)

    async def discard(self, target: str) -> None:
        if target == "all":
            self.settings.reset_all()

    async def close(self) -> None:
        self._engine.counters.sessions -= 1


class DuckEngine:
    """An engine whose sessions share one in-memory database. `session` is an
    `engine.session.engine_session.SessionFactory`.
    """

    def __init__(self, rows_per_batch: int = 10_000) -> None:
        self.database = duckdb.connect(":memory:", config={"threads": 2})
        self.rows_per_batch = rows_per_batch
        self.counters = Counters()

    def session(self, *, user: str, database: str, options: Mapping[str, str], client: Client) -> DuckSession:
        del database
        return DuckSession(self, user, options, client)

    def close(self) -> None:
        self.database.close()


_PLAN = ResultColumn("QUERY PLAN", SqlType(t.TEXT))


def _text(query: s.Query) -> str:
    """Return the query's text. The arguments of an EXECUTE have no text of their own; for these, return the SQL that
    sqlglot generates.
    """
    return query.tree.sql("duckdb") if query.text.startswith("execute") else query.text


def _duck_name(pg: t.PgType) -> str:
    return (
        f"{_duck_name(t.element_of(pg))}[]"
        if pg.is_array
        else {"bpchar": "varchar", "numeric": "decimal(18,3)"}.get(pg.name, pg.name)
    )


def _parameters(text: str, oids: Sequence[int]) -> tuple[t.PgType, ...]:
    """Infer the parameters' types: `$1::int4` is an int4; a parameter without a cast is a text."""
    count = max((int(n) for n in re.findall(r"\$(\d+)", text)), default=0)
    told = {int(n): name for n, name in re.findall(r"\$(\d+)::(\w+)", text)}
    return tuple(
        t.BY_OID[oids[i]] if i < len(oids) and oids[i] not in (0, 705) else t.BY_NAME[told.get(i + 1, "text")]
        for i in range(count)
    )


def _substitute(text: str, values: Sequence[str]) -> str:
    return re.sub(r"\$(\d+)", lambda match: values[int(match[1]) - 1], text)


def _literal(value: Any, pg: t.PgType) -> str:
    if value is None:
        return f"NULL::{_duck_name(pg)}"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + f"'::{_duck_name(pg)}"
    return f"({value})::{_duck_name(pg)}"

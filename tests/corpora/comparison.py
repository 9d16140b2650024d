"""The comparison of one file on a member and on PostgreSQL 15, statement by statement, with the outcome of each.

Both servers have a schema for the file, which is created before it and dropped after it. Rows are compared as
multisets, because an ORDER BY may leave their order open. Where PostgreSQL reports an error, the SQLSTATE is compared.
For EXPLAIN nothing else is compared, because plans differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

import psycopg
from psycopg import sql
from support.answers import Answer, Connection, answered, differences

from corpora.statement import Statement

#: same: PostgreSQL's answer. refused: 0A000. after a refusal: an object is missing in a file of which a statement was refused.
#: different: another answer. internal: XX000, or the connection was lost.
Kind = Literal["same", "refused", "after a refusal", "different", "internal"]
KINDS: Final[tuple[Kind, ...]] = ("same", "refused", "after a refusal", "different", "internal")
_REFUSED: Final = "0A000"
_INTERNAL: Final = frozenset(("XX000", "lost"))
#: Objects, columns, functions and types that are not there; a transaction that has failed.
_MISSING: Final = frozenset(("42P01", "42703", "42883", "42704", "3F000", "25P02", "34000", "26000"))
_TIMEOUT: Final = "30s"


@dataclass(frozen=True, slots=True)
class Difference:
    """The result of one statement. said: the difference in words."""

    statement: Statement
    kind: Kind
    said: str


@dataclass(slots=True)
class Compared:
    """The result of one file on one engine. counts: statements by kind. different: those that are `different` or `internal`."""

    counts: Counter[Kind] = field(default_factory=Counter)
    different: list[Difference] = field(default_factory=list)


class Servers:
    """A connection to each server, made again when it is lost. member, postgres: connection strings. engine: the member's."""

    def __init__(self, member: str, postgres: str, engine: str) -> None:
        self._member, self._postgres, self._engine = member, postgres, engine

    def compare(self, statements: Iterable[Statement], schema: str) -> Compared:
        """Run a file in a schema of its own."""
        compared = Compared()
        ours, theirs = self._opened(self._member, schema), self._opened(self._postgres, schema)
        try:
            for statement in statements:
                want, got = _ask(theirs, statement), _ask(ours, statement)
                found = _judged(statement, want, got, refused=bool(compared.counts["refused"]))
                compared.counts[found.kind] += 1
                if found.kind in ("different", "internal"):
                    compared.different.append(found)
                ours = ours if not ours.closed else self._opened(self._member, schema)
                theirs = theirs if not theirs.closed else self._opened(self._postgres, schema)
        finally:
            for connection in (ours, theirs):
                _drop(connection, schema)
        return compared

    def _opened(self, dsn: str, schema: str) -> Connection:
        connection = psycopg.connect(dsn, autocommit=True)
        named = sql.Identifier(schema)
        connection.execute(sql.SQL("create schema if not exists {}").format(named))
        connection.execute(sql.SQL("set search_path = {}, public").format(named))
        connection.execute(sql.SQL("set statement_timeout = {}").format(sql.Literal(_TIMEOUT)))
        if dsn == self._member:
            connection.execute(sql.SQL("set sluice.engine = {}").format(sql.Literal(self._engine)))
        return connection


def _drop(connection: Connection, schema: str) -> None:
    """Drop the schema, whatever state the file has left the connection in."""
    with connection, psycopg.connect(connection.info.dsn, autocommit=True) as other:
        connection.close()
        other.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema)))


def _ask(connection: Connection, statement: Statement) -> Answer:
    try:
        if statement.data is not None:
            with connection.cursor() as cursor, cursor.copy(statement.text.encode()) as copy:
                copy.write(statement.data)
            return Answer()
        return answered(connection, statement.text)
    except psycopg.Error as error:
        return Answer(sqlstate="lost" if connection.closed else error.sqlstate or type(error).__name__)


def _judged(statement: Statement, want: Answer, got: Answer, *, refused: bool) -> Difference:
    if statement.text.lstrip()[:7].lower() == "explain":
        want, got = (Answer(answer.sqlstate) for answer in (want, got))
    said = differences(want, got, ordered=False)
    if said is None:
        return Difference(statement, "same", "")
    if got.sqlstate in _INTERNAL:
        return Difference(statement, "internal", said)
    if got.sqlstate == _REFUSED:
        return Difference(statement, "refused", said)
    if refused and got.sqlstate in _MISSING:
        return Difference(statement, "after a refusal", said)
    return Difference(statement, "different", said)

"""Statements as the parser gives them: what kind of thing the client asked for, names folded, nothing bound yet.

`engine.sql.parser.parse(sql)` splits a query string and returns one of these for each statement. Queries hold their
sqlglot tree; utility statements are read into fields, since sqlglot keeps them as text. Whoever executes dispatches on the
class: the server's session takes those marked *session* (transactions, cursors, prepared statements), the engine the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """text: the statement's own source, without its semicolon. offset: where it begins in the query string, in
    characters, so that an error's position can be told."""

    text: str
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Statement):
    """SELECT, VALUES, TABLE, WITH ... SELECT."""

    tree: exp.Expression = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(Statement):
    """EXPLAIN [ANALYZE] [(options)] statement. `inner` is a Query, DeclareCursor or ExecuteStatement."""

    inner: Statement
    analyze: bool = False
    format: Literal["text", "json"] = "text"
    verbose: bool = False
    costs: bool = True
    distsql: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifiedName:
    schema: str | None
    name: str
    position: int = 0

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Statement):
    name: QualifiedName
    columns: tuple[str, ...]
    query: Query
    replace: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDefinition:
    """A column of CREATE FOREIGN TABLE: its type as a sqlglot tree, for the binder to read."""

    name: str
    type: exp.DataType
    not_null: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateForeignTable(Statement):
    """CREATE FOREIGN TABLE [IF NOT EXISTS] name [(columns)] [SERVER name] OPTIONS (key 'value', ...)."""

    name: QualifiedName
    columns: tuple[ColumnDefinition, ...]
    options: tuple[tuple[str, str], ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema(Statement):
    name: str
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Statement):
    kind: Literal["view", "foreign table", "table", "schema"]
    names: tuple[QualifiedName, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariable(Statement):
    """SET [SESSION | LOCAL] name {TO | =} value; value None is DEFAULT. SET TIME ZONE, SET NAMES and SET [SESSION
    CHARACTERISTICS AS] TRANSACTION come as the setting they mean; `also` holds further ones where several modes were given
    (with the same `local`)."""

    name: str
    value: str | None
    local: bool = False
    also: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowVariable(Statement):
    """SHOW name; name "all" for SHOW ALL."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetVariable(Statement):
    """RESET name; name "all" for RESET ALL."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin(Statement):
    """*session.* BEGIN / START TRANSACTION, with its modes as settings (`transaction_isolation`, ...)."""

    modes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Statement):
    """*session.* COMMIT / END [AND CHAIN]."""

    chain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback(Statement):
    """*session.* ROLLBACK / ABORT [AND CHAIN]."""

    chain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint(Statement):
    """*session.*"""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackTo(Statement):
    """*session.*"""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Statement):
    """*session.*"""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareCursor(Statement):
    """*session.* scroll: None when neither SCROLL nor NO SCROLL was said."""

    name: str
    query: Query
    binary: bool = False
    hold: bool = False
    scroll: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch(Statement):
    """*session.* FETCH and MOVE. direction as PostgreSQL's; count None is ALL."""

    cursor: str
    direction: Literal["forward", "backward", "absolute", "relative"]
    count: int | None
    move: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCursor(Statement):
    """*session.* name None is ALL."""

    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStatement(Statement):
    """*session.* PREPARE name (types) AS statement."""

    name: str
    types: tuple[exp.Expression, ...]
    inner: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteStatement(Statement):
    """*session.* EXECUTE name (arguments): constant expressions."""

    name: str
    arguments: tuple[exp.Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deallocate(Statement):
    """*session.* name None is ALL."""

    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisten(Statement):
    """*session.* Poolers and drivers send it with what resets a connection; nobody can listen, so nothing is to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard(Statement):
    """*session.*"""

    target: Literal["all", "plans", "sequences", "temp"]

"""COPY as the parser returns it (gram.y: CopyStmt). Its options are interpreted when it runs, as in PostgreSQL."""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from engine.sql.parser.nodes.statements import Query, Statement
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CopyOption:
    """An option of COPY.

    name: as written, in lower case. value: a word, a string or a number; several names, or both numbers of PARTITION;
        "*"; None without a value.
    position: counts from the beginning of the statement's text.
    """

    name: str
    value: str | tuple[str, ...] | None
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy(Statement):
    """A COPY statement. columns: None without a list. options: in their order.
    file: None for STDIN and STDOUT.
    """

    table: exp.Table | None = field(compare=False)
    columns: tuple[exp.Identifier, ...] | None = field(default=None, compare=False)
    options: tuple[CopyOption, ...] = ()
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFrom(Copy):
    """COPY FROM. where: the condition on the rows that are copied."""

    where: exp.Expression | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTo(Copy):
    """COPY TO. query: in place of a table."""

    query: Query | None = None

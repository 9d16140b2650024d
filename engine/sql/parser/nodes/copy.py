"""COPY as the parser returns it (gram.y: CopyStmt). Its options are interpreted when it runs, as in PostgreSQL."""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from engine.sql.parser.nodes.statements import Query, Statement
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CopyOption:
    """name: as written, in lower case. value: a word, a string or a number; several names, or both numbers of PARTITION; "*"; None
    where nothing was said.
    position: counts from the beginning of the statement's text."""

    name: str
    value: str | tuple[str, ...] | None
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy(Statement):
    """columns: None where no list was written. options: in their order.

    file: None for STDIN and STDOUT.
    """

    table: exp.Table | None = field(compare=False)
    columns: tuple[exp.Identifier, ...] | None = field(default=None, compare=False)
    options: tuple[CopyOption, ...] = ()
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFrom(Copy):
    """where: which rows are taken."""

    where: exp.Expression | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTo(Copy):
    """query: in place of a table."""

    query: Query | None = None

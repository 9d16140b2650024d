"""The parser's entry point: from a query string to statements.

The whole string is read before anything runs, as in PostgreSQL: a syntax error anywhere means that nothing has been
executed. Queries are read by `engine.sql.parser.grammar`, the other statements by the readers of
`engine.sql.parser.utility`, one file a family. Statements that PostgreSQL has and Sluice lacks are refused by name.

Positions: in errors raised here they count from the beginning of the query string; in a Query's tree, from the
beginning of that query's own `text` (which for EXPLAIN, DECLARE or PREPARE is a part of the statement's).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from engine.common.depth import bounded_depth
from engine.sql.parser.lexical.lexer import Kind, tokenize
from engine.sql.parser.nodes.statements import MutationStatement, Query, Statement, WithChanges
from engine.sql.parser.utility import (
    alterations,
    copying,
    cursors,
    definitions,
    explain,
    locking,
    notifications,
    prepared,
    privileges,
    reindex,
    roles,
    settings,
    transactions,
    vacuum,
)
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.tables import select_into
from engine.sql.parser.utility.unsupported import refuse

_Reading = Callable[[StatementReader], Statement]

_READERS: Final[dict[str, _Reading]] = {
    **transactions.READERS,
    **cursors.READERS,
    **definitions.READERS,
    **alterations.READERS,
    **settings.READERS,
    **prepared.READERS,
    **notifications.READERS,
    **explain.READERS,
    **vacuum.READERS,
    **reindex.READERS,
    **copying.READERS,
    **roles.READERS,
    **locking.READERS,
    **privileges.READERS,
    "truncate": StatementReader.truncate,
}


def parse(sql: str, notice: Callable[[str], None] = lambda _message: None) -> tuple[Statement, ...]:
    """Parse a query string into statements; none for white space, comments and semicolons only.

    notice: called with PostgreSQL's notices, such as of a name that was truncated to 63 bytes.
    Raises SqlSyntaxError with a position, FeatureNotSupported, or StatementTooComplex.
    """
    with bounded_depth():
        return tuple(_statements(StatementReader(sql, tokenize(sql, notice))))


def _statements(reader: StatementReader) -> list[Statement]:
    found: list[Statement] = []
    while True:
        while reader.take_symbol(";"):
            pass
        if reader.at_end():
            return found
        found.append(read_statement(reader))
        if not reader.at_end() and not reader.symbol_at(";"):
            reader.fail()


def read_statement(reader: StatementReader) -> Statement:
    """Read one statement, up to its semicolon."""
    start = reader.token.start
    reader.base = start
    if reader.mutation_at():
        return _in_parts(reader.mutation_statement())
    if reader.query_at():
        return _in_parts(select_into(reader.query_statement()))
    reading = _READERS.get(reader.token.text) if reader.token.kind is Kind.WORD else None
    if reading is None:
        refuse(reader)
    statement = reading(reader)
    return replace(statement, text=reader.text_since(start), offset=start)


def _in_parts(statement: Statement) -> Statement:
    """Return a statement whose WITH changes rows as `WithChanges`."""
    last: Query | MutationStatement
    match statement:
        case Query(tree=tree):
            with_, last = tree.args.get("with_"), statement
        case MutationStatement(with_=with_):
            last = replace(statement, with_=None)
        case _:
            return statement
    if with_ is None or not any("changes" in item.this.meta for item in with_.expressions):
        return statement
    recursive = bool(with_.args.get("recursive"))
    return WithChanges(
        items=tuple(with_.expressions), last=last, recursive=recursive, text=statement.text, offset=statement.offset
    )

"""CREATE INDEX (gram.y: IndexStmt). Columns alone: what else an index may have is refused by name."""

from __future__ import annotations

from typing import Final

from engine.sql.statements import CreateIndex, IndexedColumn, Statement
from engine.sql.utility.columns import options, take_collation
from engine.sql.utility.reader import StatementReader
from wire.errors import UndefinedObject

_METHODS: Final = ("btree", "hash", "gist", "gin", "spgist", "brin")


def create_index(reader: StatementReader) -> Statement:
    """After CREATE; at [UNIQUE] INDEX."""
    unique = reader.take("unique")
    reader.expect("index")
    reader.take("concurrently")
    missing = reader.take("if", "not", "exists")
    name = None if reader.word_at("on") else reader.name()
    reader.expect("on")
    reader.take("only")
    table = reader.qualified_name()
    if reader.take("using"):
        _method(reader)
    columns = _columns(reader)
    if reader.word_at("include"):
        reader.unsupported("INCLUDE in an index")
    if reader.take("nulls") and not reader.take("distinct"):
        reader.unsupported("UNIQUE NULLS NOT DISTINCT")
    if reader.take("with"):
        options(reader)
    if reader.word_at("tablespace"):
        reader.unsupported("TABLESPACE")
    if reader.word_at("where"):
        reader.unsupported("partial indexes")
    return CreateIndex(table=table, columns=columns, name=name, unique=unique, if_not_exists=missing, text="")


def _method(reader: StatementReader) -> None:
    token = reader.token
    method = reader.name()
    if method not in _METHODS:
        raise UndefinedObject(f'access method "{method}" does not exist')
    if method != "btree":
        reader.unsupported(f"index access method {method}", token)


def _columns(reader: StatementReader) -> tuple[IndexedColumn, ...]:
    reader.expect_symbol("(")
    found = [_column(reader)]
    while reader.take_symbol(","):
        found.append(_column(reader))
    reader.expect_symbol(")")
    return tuple(found)


def _column(reader: StatementReader) -> IndexedColumn:
    token = reader.token
    if reader.symbol_at("(") or reader.symbol_at("(", ahead=1):
        reader.unsupported("an index on an expression", token)
    name = reader.name()
    take_collation(reader)
    descending = reader.take("desc")
    if not descending:
        reader.take("asc")
    nulls = None
    if reader.take("nulls"):
        nulls = reader.take("first")
        if not nulls:
            reader.expect("last")
    if not reader.symbol_at(",", ")"):
        reader.unsupported("operator classes of an index")
    return IndexedColumn(name=name, descending=descending, nulls_first=nulls)

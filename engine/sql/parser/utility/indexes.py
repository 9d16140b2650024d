"""CREATE INDEX (gram.y: IndexStmt): its method, its columns and expressions with their operator classes, INCLUDE
columns, and its predicate. Other parts of an index definition are refused by name.
"""

from __future__ import annotations

from engine.catalog.model.objects import BTREE
from engine.sql.parser.nodes.statements import CreateIndex, Formula, IndexedColumn, Statement
from engine.sql.parser.utility.columns import (
    formula,
    formula_in_parentheses,
    options,
    take_collation,
    take_nulls_not_distinct,
    take_tablespace,
)
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import FeatureNotSupported, InvalidObjectDefinition


def create_index(reader: StatementReader) -> Statement:
    """Read CREATE [UNIQUE] INDEX, after CREATE."""
    unique = reader.take("unique")
    reader.expect("index")
    reader.take("concurrently")
    missing = reader.take("if", "not", "exists")
    name = None if reader.word_at("on") else reader.name()
    reader.expect("on")
    reader.take("only")
    table = reader.qualified_name()
    method = reader.name() if reader.take("using") else BTREE
    columns = reader.parenthesized_list(lambda: _column(reader))
    included = reader.parenthesized_list(lambda: _included_column(reader)) if reader.take("include") else ()
    alike = take_nulls_not_distinct(reader)
    parameters = tuple(name for name, _ in options(reader)) if reader.take("with") else ()
    take_tablespace(reader)
    predicate = formula(reader, bare=False) if reader.take("where") else None
    return CreateIndex(
        table=table, columns=tuple(columns), method=method, included=tuple(included), name=name, unique=unique,
        if_not_exists=missing, predicate=predicate, nulls_not_distinct=alike, parameters=parameters, text="",
    )  # fmt: skip


def _included_column(reader: StatementReader) -> str:
    """Read a column of INCLUDE (indexcmds.c: ComputeIndexAttrs refuses properties that only key columns have)."""
    if reader.symbol_at("(") or reader.symbol_at("(", ahead=1):
        raise FeatureNotSupported("expressions are not supported in included columns")
    name = reader.name()
    for words, what in ((("collate",), "a collation"), (("asc", "desc"), "ASC/DESC options")):
        if reader.word_at(*words):
            raise InvalidObjectDefinition(f"including column does not support {what}")
    if reader.word_at("nulls"):
        raise InvalidObjectDefinition("including column does not support NULLS FIRST/LAST options")
    if not reader.symbol_at(",", ")"):
        raise InvalidObjectDefinition("including column does not support an operator class")
    return name


def _column(reader: StatementReader) -> IndexedColumn:
    said: Formula | None = None
    name = ""
    if reader.symbol_at("("):
        said = formula_in_parentheses(reader)
    elif reader.symbol_at("(", ".", ahead=1):
        said = formula(reader, bare=True)
    else:
        name = reader.name()
    take_collation(reader)
    operators = None
    if not reader.symbol_at(",", ")") and not reader.word_at("asc", "desc", "nulls"):
        operators = reader.qualified_name()
        if reader.symbol_at("("):
            reader.raise_unsupported("parameters of an operator class")
    ordered = reader.word_at("asc", "desc")
    descending = reader.take("desc")
    if not descending:
        reader.take("asc")
    nulls = None
    if reader.take("nulls"):
        nulls = reader.take("first")
        if not nulls:
            reader.expect("last")
    return IndexedColumn(
        name=name, formula=said, operators=operators, ordered=ordered, descending=descending, nulls_first=nulls
    )

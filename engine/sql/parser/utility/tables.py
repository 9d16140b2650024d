"""CREATE TABLE, CREATE TABLE AS, SELECT INTO (gram.y: CreateStmt, CreateAsStmt).

Clauses that PostgreSQL has here and Sluice lacks are refused by name.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.statements import (
    ColumnDefinition,
    ConstraintDefinition,
    CreateMaterializedView,
    CreateTable,
    CreateTableAs,
    LikeTable,
    OnCommit,
    QualifiedName,
    Query,
    RefreshMaterializedView,
    Statement,
    TableLayout,
)
from engine.sql.parser.utility.columns import column, options, table_constraint, table_constraint_at, take_tablespace
from engine.sql.parser.utility.reader import StatementReader
from wire.dataclass import dataclass
from wire.errors import InvalidTableDefinition, UndefinedObject

_LIKE_OPTIONS: Final = (
    "comments", "compression", "constraints", "defaults", "generated", "identity", "indexes", "statistics", "storage"
)  # fmt: skip
_PARTITIONINGS: Final = ("list", "range")


@dataclass(frozen=True, slots=True)
class _Head:
    name: QualifiedName
    temporary: bool
    unlogged: bool
    if_not_exists: bool


def create_table(reader: StatementReader, temporary: bool, unlogged: bool = False) -> Statement:
    """Read CREATE [TEMPORARY | UNLOGGED] TABLE, after these words."""
    missing = reader.take("if", "not", "exists")
    head = _Head(reader.qualified_name(), temporary, unlogged, missing)
    for word in ("of", "partition"):
        if reader.word_at(word):
            reader.raise_unsupported(f"CREATE TABLE ... {word.upper()}")
    if _columns_only_at(reader):
        names = tuple(c.name for c in reader.names()) if reader.symbol_at("(") else ()
        return _as_query(reader, head, names)
    columns, constraints = _elements(reader, head.name.name)
    if reader.word_at("inherits"):
        reader.raise_unsupported("INHERITS")
    return CreateTable(
        name=head.name, columns=columns, constraints=constraints, layout=_layout(reader, unlogged), temporary=temporary,
        if_not_exists=missing, text="",
    )  # fmt: skip


def _columns_only_at(reader: StatementReader) -> bool:
    """Return whether the statement is a CREATE TABLE AS: it has no list, or a list of names only."""
    if not reader.symbol_at("("):
        return True
    ahead = 1
    while reader.peek(ahead).kind in (Kind.WORD, Kind.NAME):
        if reader.symbol_at(")", ahead=ahead + 1):
            return True
        if not reader.symbol_at(",", ahead=ahead + 1):
            return False
        ahead += 2
    return False


def _as_query(reader: StatementReader, head: _Head, names: tuple[str, ...]) -> CreateTableAs:
    layout = _layout(reader, head.unlogged)
    reader.expect("as")
    if reader.word_at("execute"):
        reader.raise_unsupported("CREATE TABLE AS EXECUTE")
    if not reader.query_at():
        reader.fail()
    query = reader.query_statement()
    with_data = _with_data(reader)
    return CreateTableAs(
        name=head.name, columns=names, query=query, layout=layout, temporary=head.temporary,
        if_not_exists=head.if_not_exists, with_data=with_data, text="",
    )  # fmt: skip


def _with_data(reader: StatementReader) -> bool:
    if not reader.take("with"):
        return True
    with_data = not reader.take("no")
    reader.expect("data")
    return with_data


def create_materialized_view(reader: StatementReader) -> Statement:
    """Read CREATE MATERIALIZED VIEW, after these words."""
    missing = reader.take("if", "not", "exists")
    name = reader.qualified_name()
    columns = tuple(c.name for c in reader.names()) if reader.symbol_at("(") else ()
    layout = _layout(reader)
    reader.expect("as")
    if not reader.query_at():
        reader.fail()
    query = reader.query_statement()
    return CreateMaterializedView(
        name=name, columns=columns, query=query, layout=layout, if_not_exists=missing, with_data=_with_data(reader),
        text="",
    )  # fmt: skip


def refresh(reader: StatementReader) -> Statement:
    """Read REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]."""
    reader.expect("refresh", "materialized", "view")
    concurrently = reader.take("concurrently")
    name = reader.qualified_name()
    return RefreshMaterializedView(name=name, concurrently=concurrently, with_data=_with_data(reader), text="")


def _elements(
    reader: StatementReader, table: str
) -> tuple[tuple[ColumnDefinition | LikeTable, ...], tuple[ConstraintDefinition, ...]]:
    """Read ( columns and table constraints )."""
    found = reader.parenthesized_list(lambda: _element(reader, table), empty=True)
    columns = tuple(element for element in found if not isinstance(element, ConstraintDefinition))
    return columns, tuple(element for element in found if isinstance(element, ConstraintDefinition))


def _element(reader: StatementReader, table: str) -> ColumnDefinition | LikeTable | ConstraintDefinition:
    """Read a TableElement."""
    if reader.take("like"):
        return _like(reader)
    return table_constraint(reader) if table_constraint_at(reader) else column(reader, table)


def _like(reader: StatementReader) -> LikeTable:
    """Read a TableLikeClause."""
    name = reader.qualified_name()
    including: set[str] = set()
    while reader.word_at("including", "excluding"):
        change = including.update if reader.next().text == "including" else including.difference_update
        if not reader.word_at("all", *_LIKE_OPTIONS):
            reader.fail()
        option = reader.next().text
        change(_LIKE_OPTIONS if option == "all" else (option,))
    return LikeTable(name=name, including=frozenset(including))


def _layout(reader: StatementReader, unlogged: bool = False) -> TableLayout:
    """Read [PARTITION BY] [USING method] [WITH (...) | WITHOUT OIDS] [ON COMMIT ...] [TABLESPACE]."""
    partition_by = _partition_by(reader) if reader.take("partition", "by") else ()
    if reader.take("using"):
        _access_method(reader)
    found: tuple[tuple[str, str], ...] = ()
    if reader.word_at("with") and reader.symbol_at("(", ahead=1):
        reader.next()
        found = options(reader)
    else:
        reader.take("without", "oids")
    on_commit = _on_commit(reader) if reader.take("on", "commit") else "preserve"
    take_tablespace(reader)
    return TableLayout(partition_by=partition_by, options=found, on_commit=on_commit, unlogged=unlogged)


def _on_commit(reader: StatementReader) -> OnCommit:
    """Read the action after ON COMMIT."""
    if reader.take("drop"):
        return "drop"
    if reader.take("delete", "rows"):
        return "delete"
    reader.expect("preserve", "rows")
    return "preserve"


def _partition_by(reader: StatementReader) -> tuple[tuple[str, int], ...]:
    """Read LIST (column) or RANGE (columns). For both, rows with the same values are stored in one folder. HASH is not
    supported.
    """
    token = reader.token
    strategy = reader.name()
    if strategy == "hash":
        reader.raise_unsupported("PARTITION BY HASH", token)
    if strategy not in _PARTITIONINGS:
        raise InvalidTableDefinition(f'unrecognized partitioning strategy "{strategy}"', position=token.start + 1)
    start = reader.token
    found = reader.parenthesized_list(lambda: _partition_column(reader))
    if strategy == "list" and len(found) > 1:
        raise InvalidTableDefinition(
            'cannot use "list" partition strategy with more than one column', position=start.start + 1
        )
    return tuple(found)


def _partition_column(reader: StatementReader) -> tuple[str, int]:
    token = reader.token
    if reader.symbol_at("(") or reader.symbol_at("(", ahead=1):
        reader.raise_unsupported("partitioning by an expression", token)
    name = reader.name()
    if not reader.symbol_at(",", ")"):
        reader.raise_unsupported("collations and operator classes of a partition key")
    return name, token.start - reader.base


def _access_method(reader: StatementReader) -> None:
    token = reader.token
    name = reader.name()
    if name != "heap":
        raise UndefinedObject(f'access method "{name}" does not exist', position=token.start + 1)


def select_into(query: Query) -> Statement:
    """Return the query, or a CREATE TABLE AS for SELECT ... INTO, which is written in the first SELECT of a set
    operation.
    """
    first = query.tree
    while isinstance(first, exp.SetOperation):
        first = first.this
    target = first.meta.pop("into", None)
    if target is None:
        return query
    name, temporary = target
    return CreateTableAs(
        name=name, columns=(), query=query, temporary=temporary, into=True, text=query.text, offset=query.offset
    )

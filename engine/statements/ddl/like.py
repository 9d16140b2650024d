"""LIKE in CREATE TABLE: copies columns, and the properties that INCLUDING names, from another relation
(parse_utilcmd.c: transformTableLikeClause, expandTableLikeClause).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from engine.catalog.model import acl
from engine.catalog.model.objects import Constraint, Sequence, Table, TableColumn, View
from engine.sql.deparse.stored_text import sequences_of, with_table_renamed
from engine.sql.parser.lexical.positions import cursor
from engine.sql.parser.nodes.statements import ColumnDefinition, ConstraintDefinition, LikeTable, SequenceOptions
from engine.statements.ddl.columns import ColumnMaker
from engine.statements.ddl.index_parts import with_renamed_table
from engine.statements.shared.definer import Definer
from engine.statements.shared.dependencies import kind_of
from engine.statements.shared.names import Names
from wire.errors import UndefinedTable, WrongObjectType


def source_of(like: LikeTable, definer: Definer) -> Table | View:
    """Find the relation that LIKE names. Raises UndefinedTable, WrongObjectType."""
    found = definer.resolve(like.name)
    if found is None:
        raise UndefinedTable(f'relation "{like.name}" does not exist', position=cursor(like.name.position))
    if isinstance(found, Sequence):
        raise WrongObjectType(
            f'relation "{found.name}" is invalid in LIKE clause',
            detail="This operation is not supported for sequences.",
        )
    definer.authority.require_relation(found, kind_of(found), acl.SELECT)
    return found


def columns_like(like: LikeTable, first: int, maker: ColumnMaker, definer: Definer) -> Iterator[TableColumn]:
    """Yield the copied columns, numbered from `first`, always with their types and NOT NULL."""
    for number, column in enumerate(source_of(like, definer).columns, first):
        made = TableColumn(column.name, column.type, number, column.nullable)
        if "comments" in like.including:
            made = replace(made, comment=column.comment)
        if column.identity and "identity" in like.including:
            made = maker.with_identity(made, _identity(column, definer))
        elif column.generated:
            if "generated" in like.including and column.default is not None:
                text = with_table_renamed(column.default, like.name.name, maker.table)
                made = replace(made, default=text, generated=True)
        elif not column.identity and "defaults" in like.including:
            made = replace(made, default=column.default)
        yield made


def _identity(column: TableColumn, definer: Definer) -> ColumnDefinition:
    """Return the definition of a column's identity sequence, as a statement would write it."""
    sequences = (r for r in definer.snapshot.relations.values() if isinstance(r, Sequence))
    s = next(s for s in sequences if column.default is not None and s.oid in sequences_of(column.default))
    options = SequenceOptions(
        start=s.start, increment=s.increment, minimum=s.minimum, maximum=s.maximum, cache=s.cache, cycle=s.cycle
    )
    return ColumnDefinition(name=column.name, type=exp.DataType(), identity=column.identity, sequence=options)


def checks_like(like: LikeTable, table: str, definer: Definer) -> Iterator[Constraint]:
    """Yield the copied checks, under their own names."""
    source = source_of(like, definer)
    if "constraints" not in like.including or not isinstance(source, Table):
        return
    for check in source.constraints:
        if check.kind == "check":
            text = with_table_renamed(check.expression, source.name, table)
            comment = check.comment if "comments" in like.including else None
            yield replace(check, oid=definer.catalog.objects.new_oid(), expression=text, comment=comment)


def keys_like(like: LikeTable, definer: Definer) -> Iterator[ConstraintDefinition]:
    """Yield the copied keys, as if the statement defined them."""
    source = source_of(like, definer)
    if "indexes" not in like.including or not isinstance(source, Table):
        return
    for key in source.constraints:
        if key.kind in ("primary key", "unique"):
            yield ConstraintDefinition(
                kind=key.kind, columns=key.columns, included=key.included, deferrable=key.deferrable,
                nulls_not_distinct=key.nulls_not_distinct,
            )  # fmt: skip


def indexes_like(like: LikeTable, table: str, names: Names, definer: Definer) -> Iterator[Constraint]:
    """Yield the copied indexes that belong to no constraint, under the names that PostgreSQL would choose."""
    source = source_of(like, definer)
    if "indexes" not in like.including or not isinstance(source, Table):
        return
    for index in source.constraints:
        if index.is_index:
            attributes = "_".join((*(part.name for part in index.key_parts), *index.included))
            yield replace(
                with_renamed_table(index, source.name, table),
                oid=definer.catalog.objects.new_oid(),
                name=names.relation(table, attributes, "idx"),
                comment=index.comment if "comments" in like.including else None,
            )

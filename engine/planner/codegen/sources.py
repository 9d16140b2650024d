"""Sources of rows: tables, edges of a physical plan, VALUES, functions in FROM, set-returning functions in a select
list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeGuard

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Call, ColumnRef, Const, Expr, ParamRef, Subquery
from engine.plan_ir.logical import FILE, ROW, FunctionScan, ProjectSet, TableReader, Values
from engine.plan_ir.physical import Receive, relation_of
from engine.planner.codegen import value_lists
from engine.planner.codegen.block import Block, Stage
from engine.planner.codegen.calls import apply
from engine.planner.codegen.expressions import render, render_as
from engine.planner.codegen.files import Splits, file_reader, in_keys, in_range
from engine.planner.codegen.scans import is_scanned, scan
from engine.planner.codegen.scope import Scope
from engine.planner.codegen.task_functions import is_for_tasks, render_task_call
from engine.sql.functions.trees import sql
from engine.sql.trees.build import (
    QueryTree,
    call,
    cast,
    column,
    integer,
    label,
    name,
    ordered_term,
    string,
    table_alias,
    with_alias,
)
from engine.sql.trees.copies import copy_tree
from engine.sql.trees.storage_types import VIEW_FILE, VIEW_ROW, relation_name, storage_type
from engine.sql.trees.unsupported import Unsupported
from wire.types import pg_types as t

#: An interval from the struct that stored tables' files hold for it (`engine.storage.types`).
_INTERVAL: Final = "(to_months(({0}).months) + to_days(({0}).days) + to_microseconds(({0}).micros))"
_INT8: Final = range(-(2**63), 2**63)
_PLACES: Final = {FILE: VIEW_FILE, ROW: VIEW_ROW}
#: The nodes and calls of constants for Spark (`engine.sql.trees.literals`).
_FOLDED: Final = (
    exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Array, exp.Identifier, exp.Var,
    exp.Neg, exp.Paren, exp.Binary, exp.Not,
)  # fmt: skip
_FOLDED_CALLS: Final = (
    "unhex", "named_struct", "date_from_unix_date", "make_timestamp", "make_timestamptz", "timestamp_micros",
    "timestampadd",
)  # fmt: skip


def table_reader(node: TableReader, scope: Scope) -> Block:
    """Compile a table: its files are read in place by the local engine; in Spark it is a registered relation."""
    alias = scope.compilation.alias()
    if isinstance(node.table, SystemTable):
        return _system_table(node, node.table, scope)
    if not node.table.files:
        return _no_rows(node, scope)
    if node.table.lake == "spark" and scope.engine != "spark":
        raise Unsupported("local", f'a table of Spark\'s catalogs ("{node.table.name}")')
    if scope.engine == "spark":
        if is_scanned(node):
            return _build_scan(node, scope, alias)
        source: exp.Expression = exp.Table(this=label(relation_name(node.table)), alias=table_alias(alias))
        scope.columns = {
            c.id: _pad_bpchar(_spark_column(n, alias), c.type) for c, n in zip(node.columns, node.names, strict=True)
        }
        return Block(scope, source)
    splits = Splits(node.reader, node.ranged) if node.reader else None
    source, columns = file_reader(node.table, node.names, alias, splits)
    scope.columns = {
        c.id: _pad_bpchar(_from_file(tree, c.type, node.table), c.type)
        for c, tree in zip(node.columns, columns, strict=True)
    }
    block = Block(scope, source)
    if splits is not None and splits.ranged:
        block.where.append(in_range(splits, alias))
        block.stage = Stage.FILTERED
    if node.reader and node.key is not None:
        block.where.append(in_keys(node.reader, scope.columns[node.key.id], storage_type(node.key.type, "local")))
        block.stage = Stage.FILTERED
    return block


def _build_scan(node: TableReader, scope: Scope, alias: str) -> Block:
    found = scan(node, scope)
    scope.compilation.scans[found.name] = found
    scope.columns = {c.id: _pad_bpchar(column(c.label, alias), c.type) for c in node.columns}
    return Block(scope, exp.Table(this=label(found.name), alias=table_alias(alias)))


def _spark_column(text: str, alias: str) -> exp.Expression:
    """Return a column of a registered relation, or one that gives the position of a row."""
    return exp.Column(this=name(_PLACES.get(text, text)), table=label(alias))


def _from_file(tree: exp.Expression, typ: SqlType, table: Table) -> exp.Expression:
    """Convert a file's column to its storage type."""
    if table.storage is not None and typ.pg is t.INTERVAL:
        return sql("local", _INTERVAL.format("$1"), tree)
    if table.storage is not None and typ.pg is t.array_of(t.INTERVAL):
        return sql("local", f"list_transform($1, lambda element__: {_INTERVAL.format('element__')})", tree)
    return cast(tree, storage_type(typ, "local"))


def receive(node: Receive, scope: Scope) -> Block:
    """Compile an edge, whose rows the member has registered by name; cast from the carriers that crossed it to the
    engine's storage types.
    """
    if scope.engine == "spark":
        raise Unsupported("spark", "a fragment with inputs")
    alias = scope.compilation.alias()
    scope.columns = {c.id: cast(column(c.label, alias), storage_type(c.type, "local")) for c in node.columns}
    return Block(scope, exp.Table(this=label(relation_of(node.edge)), alias=table_alias(alias)))


def _system_table(node: TableReader, table: SystemTable, scope: Scope) -> Block:
    """Compile a relation of the system catalog, whose rows the member has in memory: the local executor registers it."""
    if scope.engine == "spark":
        raise Unsupported("spark", f"the system catalog ({table.name})")
    alias = scope.compilation.alias()
    scope.columns = {
        c.id: exp.Column(this=name(n), table=label(alias)) for c, n in zip(node.columns, node.names, strict=True)
    }
    return Block(scope, exp.Table(this=label(relation_name(table)), alias=table_alias(alias)))


def _pad_bpchar(tree: exp.Expression, typ: SqlType) -> exp.Expression:
    """Pad a character(n), which is stored padded, whatever the file holds."""
    if typ.pg is not t.BPCHAR or typ.typmod == -1:
        return tree
    width = call("GREATEST", integer(typ.typmod - 4), call("LENGTH", tree))
    return call("RPAD", tree.copy(), cast(width, exp.DataType.build("INT")), string(" "))


def _no_rows(node: TableReader, scope: Scope) -> Block:
    nulls = [cast(exp.Null(), storage_type(c.type, scope.engine)) for c in node.columns]
    scope.columns = {c.id: tree for c, tree in zip(node.columns, nulls, strict=True)}
    return Block(scope, where=[exp.false()], stage=Stage.FILTERED).as_derived_table()


def values(node: Values, scope: Scope) -> Block:
    """Compile literal rows. One row is a SELECT without FROM; rows that refer to columns are SELECTs too."""
    if len(node.rows) == 1:
        row = node.rows[0]
        scope.columns = {c.id: render_as(e, c.type, scope) for c, e in zip(node.columns, row, strict=True)}
        return Block(scope)
    alias = scope.compilation.alias()
    if (table := value_lists.table(node, alias, scope)) is not None:
        scope.columns = {c.id: column(c.label, alias) for c in node.columns}
        return Block(scope, table)
    rows = [[render_as(e, c.type, scope) for c, e in zip(node.columns, row, strict=True)] for row in node.rows]
    labels = [c.label for c in node.columns]
    listed = _are_constant(node.rows) and _can_be_listed(rows, scope)
    source = _literal_rows(rows, labels, alias) if listed else _union_of_rows(rows, labels, alias)
    scope.columns = {c.id: column(c.label, alias) for c in node.columns}
    return Block(scope, source)


def _are_constant(rows: Sequence[Sequence[Expr]]) -> bool:
    return not any(isinstance(part, (ColumnRef, Subquery)) for row in rows for e in row for part in e.walk())


def _can_be_listed(rows: Sequence[Sequence[exp.Expression]], scope: Scope) -> bool:
    """Whether the engine accepts the expressions in VALUES. Spark computes such rows while it analyses the statement,
    and refuses expressions there that it does not fold: RAISE_ERROR, NULLIF, BETWEEN, lambdas and others.
    """
    if scope.engine == "local":
        return True
    return all(_is_folded(node) for row in rows for tree in row for node in tree.walk())


def _is_folded(node: exp.Expr) -> bool:
    """Whether Spark folds a part of a constant, if it folds the operands."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _FOLDED_CALLS
    return isinstance(node, _FOLDED)


def _literal_rows(rows: list[list[exp.Expression]], labels: list[str], alias: str) -> exp.Expression:
    return exp.Values(expressions=[exp.Tuple(expressions=row) for row in rows], alias=table_alias(alias, labels))


def _union_of_rows(rows: list[list[exp.Expression]], labels: list[str], alias: str) -> exp.Expression:
    selects: list[QueryTree] = [
        exp.Select(expressions=[with_alias(tree, name_) for tree, name_ in zip(row, labels, strict=True)])
        for row in rows
    ]
    union = selects[0]
    for select in selects[1:]:
        union = exp.Union(this=union, expression=select, distinct=False)
    return exp.Subquery(this=union, alias=table_alias(alias))


def function_scan(node: FunctionScan, scope: Scope) -> Block:
    """Compile functions in FROM, their rows zipped."""
    if len(node.calls) == 1 and not node.ordinality:
        only = node.calls[0]
        if not only.function.returns_set and not _inside(only):
            scope.columns = {node.columns[0].id: render(only, scope)}
            return Block(scope).as_derived_table()
        series = _series(only, scope)
        if series is not None:
            return _series_scan(node, series, scope)
    arrays = [_rows_of(c, scope) for c in node.calls]
    inside = [_inside(c) for c in node.calls]
    if scope.engine == "spark":
        return _spark_scan(node, arrays, inside, scope)
    return _local_scan(node, arrays, inside, scope)


def _inside(call_: Call) -> tuple[str, ...]:
    """Return the fields of the rows that a function returns, each of which is a column; none for plain values."""
    return tuple(call_.type.pg.field(index) for index in range(len(call_.type.fields)))


def _rows_of(call_: Call, scope: Scope) -> exp.Expression:
    """Return the array of a function's rows: a set-returning template yields it, a scalar is its only element."""
    if not call_.function.returns_set:
        return exp.Array(expressions=[render(call_, scope)])
    if scope.engine == "spark" and is_for_tasks(call_):
        return render_task_call(call_, scope)
    return apply(call_, [render(arg, scope) for arg in call_.args], scope.engine)


def _series(call_: Call, scope: Scope) -> tuple[int, int, int] | None:
    """Return (start, stop, step) of a generate_series over constant integers, which need not become an array."""
    if call_.function.name != "generate_series" or call_.type.pg not in (t.INT4, t.INT8):
        return None
    bounds = []
    for arg in call_.args:
        if not isinstance(arg, (Const, ParamRef)):
            return None
        value = arg.value if isinstance(arg, Const) else scope.compilation.bindings.parameters[arg.index]
        if not isinstance(value, int):
            return None
        bounds.append(value)
    start, stop, step = (*bounds, 1)[:3]
    fits = step != 0 and stop + step in _INT8 and stop + (1 if step > 0 else -1) in _INT8
    return (start, stop, step) if fits else None


def _series_scan(node: FunctionScan, series: tuple[int, int, int], scope: Scope) -> Block:
    """Compile a series by the engine's own table function, whose end is exclusive."""
    start, stop, step = series
    bounds = (start, stop + (1 if step > 0 else -1), step)
    bigint = exp.DataType.build("BIGINT")
    reader = call("RANGE", *(cast(integer(bound), bigint.copy()) for bound in bounds))
    alias = scope.compilation.alias()
    only = node.columns[0]
    source = exp.Table(this=reader, alias=table_alias(alias, [only.label]))
    scope.columns = {only.id: cast(column(only.label, alias), storage_type(only.type, scope.engine))}
    return Block(scope, source)


def _local_scan(node: FunctionScan, arrays: list[exp.Expression], inside: list[tuple[str, ...]], scope: Scope) -> Block:
    """Compile SELECT UNNEST(a), UNNEST(b) ...: DuckDB zips arrays that are unnested in one select list."""
    alias = scope.compilation.alias()
    parts = [f"f{i}" for i in range(len(arrays))]
    emitted = [with_alias(call("UNNEST", array), part) for array, part in zip(arrays, parts, strict=True)]
    trees = _fields(parts, inside, alias)
    if node.ordinality:
        emitted.append(with_alias(call("UNNEST", _numbers(arrays, "local")), "ordinality"))
        trees.append(column("ordinality", alias))
    scope.columns = {c.id: tree for c, tree in zip(node.columns, trees, strict=True)}
    return Block(scope, exp.Subquery(this=exp.Select(expressions=emitted), alias=table_alias(alias)))


def _fields(parts: Sequence[str], inside: Sequence[tuple[str, ...]], alias: str) -> list[exp.Expression]:
    """Return the columns of unnested parts; a record's fields one by one."""
    trees: list[exp.Expression] = []
    for part, fields in zip(parts, inside, strict=True):
        whole = column(part, alias)
        if not fields:
            trees.append(whole)
        else:
            trees += [exp.Dot(this=whole.copy(), expression=label(field)) for field in fields]
    return trees


def _numbers(arrays: Sequence[exp.Expression], engine: str) -> exp.Expression:
    """Return the array [1 ... n] of bigints, n being the length of the longest array."""
    size = "LEN" if engine == "local" else "SIZE"
    lengths = [call("COALESCE", call(size, copy_tree(array)), integer(0)) for array in arrays]
    longest = lengths[0] if len(lengths) == 1 else call("GREATEST", *lengths)
    bigint = exp.DataType.build("BIGINT")
    if engine == "local":
        stop = exp.Add(this=cast(longest, bigint), expression=integer(1))
        return call("RANGE", cast(integer(1), bigint.copy()), stop)
    count = exp.Lambda(
        this=cast(exp.Add(this=label("i"), expression=integer(1)), bigint), expressions=[label("x"), label("i")]
    )
    return call("TRANSFORM", call("ARRAY_REPEAT", integer(0), longest), count)


def _spark_scan(node: FunctionScan, arrays: list[exp.Expression], inside: list[tuple[str, ...]], scope: Scope) -> Block:
    """Compile EXPLODE for one column; else INLINE over the arrays zipped."""
    alias = scope.compilation.alias()
    parts = [f"f{i}" for i in range(len(arrays))]
    if len(arrays) == 1 and not node.ordinality:
        reader = call("EXPLODE", arrays[0])
    else:
        zipped = [_never_null(array, call_.type, scope) for array, call_ in zip(arrays, node.calls, strict=True)]
        if node.ordinality:
            zipped.append(_numbers(arrays, "spark"))
        reader = call("INLINE", call("ARRAYS_ZIP", *zipped))
    trees = _fields(parts, inside, alias)
    if node.ordinality:
        parts.append("ordinality")
        trees.append(column("ordinality", alias))
    scope.columns = {c.id: tree for c, tree in zip(node.columns, trees, strict=True)}
    return Block(scope, exp.Table(this=reader, alias=table_alias(alias, parts)))


def _never_null(array: exp.Expression, element: SqlType, scope: Scope) -> exp.Expression:
    """Replace a null array by an empty one: ARRAYS_ZIP gives null if any array is null."""
    element_storage = storage_type(element, scope.engine)
    storage = exp.DataType(this=exp.DataType.Type.ARRAY, expressions=[element_storage], nested=True)
    return call("COALESCE", array, cast(exp.Array(expressions=[]), storage))


def project_set(node: ProjectSet, block: Block) -> Block:
    """Compile set-returning functions in a select list: as many rows as the longest set gives, none if all are empty."""
    engine = block.scope.engine
    block = block.at_most(Stage.FILTERED)
    if engine == "spark":
        block = block.as_derived_table(move_order=True)
    block = block.ready_for(node.emit)
    sets = {c.id: e for c, e in zip(node.columns, node.emit, strict=True) if _is_set(e)}
    if engine == "local":
        unnested: dict[int, exp.Expression] = {id_: call("UNNEST", _rows_of(e, block.scope)) for id_, e in sets.items()}
    else:
        unnested = _spark_lateral(sets, block)
    columns = zip(node.columns, node.emit, strict=True)
    block.scope.columns = {c.id: unnested[c.id] if c.id in sets else render(e, block.scope) for c, e in columns}
    if engine == "local":
        # This is a SELECT of its own: its reader may drop the calls' columns, but must keep the rows that they make.
        block = block.as_derived_table(move_order=True)
    return _in_turn(block) if block.order else block


def _in_turn(block: Block) -> Block:
    """Order the rows of sets over ordered rows: all rows of one input row's set come before the next one's, each set in
    its own order.

    No key of that order distinguishes the rows of a set, and neither engine's sort is stable. So their place in the
    stream is the last key: it rises within a set, which one thread writes. DuckDB counts on one thread, Spark in each
    partition by itself.
    """
    number: exp.Expression = exp.Window(this=call("ROW_NUMBER"))
    if block.scope.engine == "spark":
        number = call("MONOTONICALLY_INCREASING_ID")
    block = block.as_derived_table({"place_": number}, move_order=True)
    block.order.append(ordered_term(block.extra_column("place_"), descending=False, nulls_first=False))
    return block


def _is_set(expr: Expr) -> TypeGuard[Call]:
    return isinstance(expr, Call) and expr.function.returns_set


def _spark_lateral(sets: dict[int, Call], block: Block) -> dict[int, exp.Expression]:
    alias = block.compilation.alias()
    labels = {id_: f"s{id_}" for id_ in sets}
    arrays = [_never_null(_rows_of(e, block.scope), e.type, block.scope) for e in sets.values()]
    reader = call("INLINE", call("ARRAYS_ZIP", *arrays)) if len(arrays) > 1 else call("EXPLODE", arrays[0])
    lateral = exp.Lateral(this=reader, alias=table_alias(alias, list(labels.values())))
    block.joins.append(exp.Join(this=lateral, kind="CROSS"))
    return {id_: column(name_, alias) for id_, name_ in labels.items()}

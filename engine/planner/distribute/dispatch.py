"""From a physical plan to what its participants are told (`engine.plan_ir.spec`): fragments compiled, edges with their schemas.

A fragment that feeds a hash or a range router, or an ordered merge, computes for its rows what those go by, in its statement's
last columns: `sort_key`, bytes whose order is the edge's, and then `bucket`, the number of the receiver. Both are ordinary
expressions of an EVALUATOR on top of the fragment (below its SORT, where it has one), so that one compiler sees to where they may
stand.

**bucket** is DuckDB's hash of the keys, modulo the receivers. Keys of one class (`engine.planner.distribute.hashing`) are
brought to one form first: exact numbers are rounded to integers (their scales may differ from side to side; rounding is exact
and the same for equal values, where a double would not be), floats are doubles, bpchar has no trailing blanks. A fragment that
Spark runs has no such column: the task that sends asks DuckDB for it (`RouterSpec.parting`), of the columns that the edge
carries. A range router's number is a CASE of comparisons with its bounds, the integers among them as bigints.

**sort_key** is DuckDB's `create_sort_key`, in the C collation, with NaN last and infinities in their places. It compares an
interval's parts and not its length, so that is computed first.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import Table
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.contracts.memory_share import MemoryShare
from engine.contracts.output_cast import carrier_of
from engine.plan_ir.expr import AggregateCall, Builder, Call, Column, ColumnRef, Expr, Function, Node, ParamRef
from engine.plan_ir.logical import Evaluator, Limit, Ordering, Root, Sort, TableReader
from engine.plan_ir.mutation_spec import mutation_spec
from engine.plan_ir.physical import (
    Edge,
    Fragment,
    HashRouter,
    Instance,
    MirrorRouter,
    Mutation,
    Ordered,
    PhysicalPlan,
    RangeRouter,
    Receive,
    Sequential,
    SingleRouter,
)
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.plan_ir.spec import (
    EdgeSpec,
    FragmentSpec,
    InstanceSpec,
    MemberSpec,
    ReaderSpec,
    RouterSpec,
    SharedSpec,
    TableSpec,
)
from engine.planner.codegen import Bindings, Unsupported, compile_plan, to_sql
from engine.planner.codegen.files import literal_path
from engine.planner.codegen.fragment import is_small
from engine.planner.distribute.hashing import hash_class
from engine.planner.optimizer.ordering import asks_for_order
from engine.sql.functions.building import parse, place
from engine.sql.functions.comparison_keys import equality_key, order_keys
from engine.sql.functions.moments import fields
from engine.sql.trees.build import call, cast, integer, string, with_alias
from engine.sql.trees.literals import literal
from wire.dataclass import dataclass
from wire.types import pg_types as t
from wire.types.user_types import type_told

SORT_KEY: Final = "sort_key"
BUCKET: Final = "bucket"


def specs(
    plan: PhysicalPlan,
    bindings: Bindings,
    time_zone: str,
    page_bytes: int,
    *,
    analyze: bool = False,
    memory: MemoryShare | None = None,
    lasting: bool = False,
) -> tuple[bytes, Mapping[str, MemberSpec]]:
    """(the encoded SharedSpec, what each participant is told). The latter holds the former, encoded once.

    Raises Unsupported for what an engine cannot do, SqlError for what is wrong already (LIMIT -1).
    """
    compiled = {fragment.id: _Compiled(plan, fragment, bindings) for fragment in plan.fragments}
    shared = SharedSpec(
        tuple(_edge(plan, edge) for edge in plan.edges),
        tuple(compiled[fragment.id].spec() for fragment in plan.fragments),
        time_zone,
        page_bytes,
        analyze,
        memory,
        lasting,
    )
    encoded = msgspec.msgpack.encode(shared)
    instances: dict[str, list[InstanceSpec]] = {member: [] for member in plan.participants}
    for fragment in plan.fragments:
        for number, instance in enumerate(fragment.instances):
            instances[instance.member].append(compiled[fragment.id].instance(number, instance))
    raw = msgspec.Raw(encoded)
    return encoded, {member: MemberSpec(raw, tuple(own)) for member, own in instances.items()}


# -- edges -----------------------------------------------------------------------------------------------------------


def _edge(plan: PhysicalPlan, edge: Edge) -> EdgeSpec:
    source, target = plan.fragment(edge.source), plan.fragment(edge.target)
    columns = [pa.field(column.label, carrier_of(column.type)) for column in edge.columns]
    if isinstance(edge.synchronizer, Ordered):
        columns.append(pa.field(SORT_KEY, pa.binary()))
    return EdgeSpec(
        edge.id,
        pa.schema(columns).serialize().to_pybytes(),
        _router(plan, edge),
        _SYNCHRONIZERS.get(type(edge.synchronizer), "unsynchronized"),
        tuple(instance.member for instance in source.instances),
        tuple(instance.member for instance in target.instances),
        counted=not source.sent_by_tasks,
    )


_ROUTERS: Final[Mapping[type, Literal["single", "mirror", "hash", "range"]]] = {
    SingleRouter: "single",
    MirrorRouter: "mirror",
    HashRouter: "hash",
    RangeRouter: "range",
}
_SYNCHRONIZERS: Final[Mapping[type, Literal["ordered", "sequential"]]] = {
    Ordered: "ordered",
    Sequential: "sequential",
}


def _router(plan: PhysicalPlan, edge: Edge) -> RouterSpec:
    kind = _ROUTERS[type(edge.router)]
    source, target = plan.fragment(edge.source), plan.fragment(edge.target)
    if not isinstance(edge.router, (HashRouter, RangeRouter)) or source.engine == "local":
        return RouterSpec(kind)
    keys = [exp.column(key.label) for key in edge.router.keys]
    number = with_alias(_bucket(edge.router, keys, target), BUCKET)
    return RouterSpec(kind, to_sql(exp.Select(expressions=[number]).from_("part"), "local"))


# -- fragments -------------------------------------------------------------------------------------------------------


class _Compiled:
    """A fragment on its way to those who run it. Statements that differ by instance are compiled once for each kind."""

    def __init__(self, plan: PhysicalPlan, fragment: Fragment, bindings: Bindings) -> None:
        self._fragment = fragment
        self._bindings = bindings
        root = fragment.root if fragment.output is None else _outlet(plan, fragment)
        self._change = root.change if isinstance(root, Mutation) else None
        self._node = root.input if isinstance(root, Mutation) else root
        self._readers = {n.reader for n in walk_all(self._node) if isinstance(n, TableReader) and n.reader}
        self._statements: dict[Hashable, str] = {}

    def spec(self) -> FragmentSpec:
        fragment = self._fragment
        if fragment.output is None and (passed := passed_on(fragment.root, self._bindings.parameters)) is not None:
            return FragmentSpec(fragment.id, fragment.engine, None, fragment.inputs, None, True, False, *passed)
        small = is_small(self._node, self._bindings)
        statement = self._statement(self._node, None) if fragment.engine == "local" else None
        return FragmentSpec(
            fragment.id,
            fragment.engine,
            statement,
            fragment.inputs,
            fragment.output,
            ordered=asks_for_order(self._node),
            small=small,
            mutation=None if self._change is None else mutation_spec(self._change),
        )

    def instance(self, number: int, instance: Instance) -> InstanceSpec:
        fragment = self._fragment
        if fragment.engine == "spark":
            return self._spark_instance(number, instance)
        readers = self._readers
        told = tuple(_reader(reader, instance) for reader in sorted(instance.splits.keys() & readers))
        absent = frozenset(readers - instance.splits.keys())
        statement = None
        if absent:
            statement = self._statement(_with_files(self._node, dict.fromkeys(absent, ())), absent)
        return InstanceSpec(fragment.id, number, told, (), statement)

    def _spark_instance(self, number: int, instance: Instance) -> InstanceSpec:
        """Spark names its tables by what they hold: each instance has tables of its own, and a statement that names them."""
        files = {reader: tuple(s.file for s in instance.splits.get(reader, ())) for reader in self._readers}
        node = _with_files(self._node, files)
        statement = self._statement(node, tuple(sorted(files.items())))
        tables = {
            (n.table.oid, n.table.version): n.table
            for n in walk_all(node)
            if isinstance(n, TableReader) and isinstance(n.table, Table) and n.table.files
        }
        return InstanceSpec(self._fragment.id, number, (), tuple(map(_table, tables.values())), statement)

    def _statement(self, node: Node, kind: Hashable) -> str:
        text = self._statements.get(kind)
        if text is None:
            engine = self._fragment.engine
            compiled = compile_plan(node, engine, self._bindings)
            if compiled.scans or compiled.functions:
                raise Unsupported(engine, "what Spark's tasks do through DuckDB beside tables that other members hold")
            text = self._statements[kind] = to_sql(compiled.statement, engine)
        return text


def _reader(reader: int, instance: Instance) -> ReaderSpec:
    splits = instance.splits[reader]
    files = tuple(literal_path(split.file) for split in splits)
    [*ends] = {split.end for split in splits}
    if ends == [None]:
        return ReaderSpec(reader, files, keys=instance.within.get(reader))
    [split] = splits
    assert split.end is not None
    return ReaderSpec(reader, files, (split.first, split.end))


def _with_files(node: Node, files: Mapping[int, tuple[str, ...]]) -> Node:
    """The plan with these readers reading these files, all of them and nothing else."""

    def change(part: Node) -> Node:
        if not (isinstance(part, TableReader) and part.reader in files and isinstance(part.table, Table)):
            return part
        read = files[part.reader]
        version = zlib.crc32("|".join(read).encode(), part.table.version & 0xFFFFFFFF)
        return replace(part, table=replace(part.table, files=read, version=version), reader=0, ranged=False, key=None)

    return rewrite_plan(node, change)


def _table(table: Table) -> TableSpec:
    return TableSpec(
        table.oid,
        table.name,
        table.version,
        tuple((column.name, type_told(column.type.pg), column.type.modifier) for column in table.columns),
        table.format,
        table.files,
        tuple(sorted(table.options.items())),
        table.partition_by,
        table.lake,
    )


def passed_on(root: Node, parameters: Mapping[int, Any]) -> tuple[int, int] | None:
    """(rows to skip, rows to pass on or -1) of a root fragment that only passes its input on; None for another."""
    node = root.input if isinstance(root, Root) else root
    if isinstance(node, Receive):
        return (0, -1) if node.columns == root.columns else None
    if not (isinstance(node, Limit) and isinstance(node.input, Receive)) or node.with_ties:
        return None
    return _number(node.offset, 0, parameters), _number(node.count, -1, parameters)


def _number(count: Expr | None, unbounded: int, parameters: Mapping[int, Any]) -> int:
    value = parameters[count.index] if isinstance(count, ParamRef) else getattr(count, "value", None)
    return unbounded if value is None else int(value)


# -- what routers and merges go by -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Named(Column):
    """A column that is known by its name."""

    @property
    def label(self) -> str:
        return self.name


def _outlet(plan: PhysicalPlan, fragment: Fragment) -> Node:
    """The fragment's plan with the columns that its edge carries, and those that its router and its consumer go by."""
    assert fragment.output is not None
    edge = plan.edge(fragment.output)
    fresh = count(1 + max(c.id for node in walk_all(fragment.root) for c in node.columns))
    extra: list[tuple[Column, Expr]] = []
    if isinstance(edge.synchronizer, Ordered):
        extra.append((_Named(next(fresh), SORT_KEY, st.of(t.BYTEA)), _sort_key_call(edge.synchronizer.keys)))
    if isinstance(edge.router, (HashRouter, RangeRouter)) and fragment.engine == "local":
        number = _bucket_call(edge.router, plan.fragment(edge.target))
        extra.append((_Named(next(fresh), BUCKET, st.of(t.INT4)), number))
    if not extra and edge.columns == fragment.root.columns:
        return fragment.root
    assert not isinstance(fragment.root, Mutation), "intents go to one receiver, as they are"
    return _with_extra(fragment.root, edge.columns, extra)


def _with_extra(node: Node, carried: tuple[Column, ...], extra: Sequence[tuple[Column, Expr]]) -> Node:
    """`node` giving these of its columns, then the extra ones, computed before they are sorted."""
    columns = (*carried, *(column for column, _ in extra))
    if isinstance(node, (Sort, Limit)):
        below = node.input.columns
        return replace(node, columns=columns, input=_with_extra(node.input, below, extra) if extra else node.input)
    emit = (*(ColumnRef(column.type, column) for column in carried), *(expr for _, expr in extra))
    return Evaluator(columns, node, emit)


def _function(name: str, columns: Sequence[Column], returns: t.PgType, build: Builder) -> Call:
    function = Function(name, "function", tuple(c.type.pg for c in columns), returns, build, strict=False)
    return Call(st.of(returns), function, tuple(ColumnRef(c.type, c) for c in columns))


def _bucket_call(router: HashRouter | RangeRouter, target: Fragment) -> Expr:
    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return _bucket(router, args, target)

    return _function(BUCKET, router.keys, t.INT4, build)


def _bucket(router: HashRouter | RangeRouter, keys: Sequence[exp.Expression], target: Fragment) -> exp.Expression:
    """The receiver's number from the values of the router's keys."""
    if isinstance(router, RangeRouter):
        return _range_number(router, keys[0], [instance.member for instance in target.instances])
    hashed = call("HASH", *(_hash_form(tree, key.type) for tree, key in zip(keys, router.keys, strict=True)))
    return cast(exp.Mod(this=hashed, expression=integer(len(target.instances))), exp.DataType.build("INTEGER"))


def _range_number(router: RangeRouter, tree: exp.Expression, members: Sequence[str]) -> exp.Expression:
    """The first range whose end the value does not reach; the last one's has no end."""
    key = router.ordering[0]
    numbers = [members.index(member) for member in router.members or members]
    typ = _BOUND_TYPES.get(key.column.type.pg, key.column.type)
    before = exp.GT if key.descending else exp.LT
    null = exp.Is(this=tree.copy(), expression=exp.Null())
    branches = [exp.If(this=null, true=integer(numbers[0 if key.nulls_first else -1]))]
    for bound, number in zip(router.bounds, numbers[:-1], strict=True):
        is_before = before(this=tree.copy(), expression=literal(bound, typ, "local"))
        branches.append(exp.If(this=is_before, true=integer(number)))
    return cast(exp.Case(ifs=branches, default=integer(numbers[-1])), exp.DataType.build("INTEGER"))


#: What the key is compared with, where its own type may not have the values of the table that the bounds are from.
_BOUND_TYPES: Final[Mapping[t.PgType, SqlType]] = dict.fromkeys((t.INT2, t.INT4), st.of(t.INT8))


def _hash_form(tree: exp.Expression, typ: SqlType) -> exp.Expression:
    kind = hash_class(typ.pg)
    if kind == "exact":
        return cast(tree, exp.DataType.build("HUGEINT", dialect="duckdb"))
    if kind == "float":
        return cast(tree, exp.DataType.build("DOUBLE"))
    return equality_key(tree, typ, "local")


def _sort_key_call(keys: Ordering) -> Expr:
    columns = [key.column for key in keys]

    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        parts: list[exp.Expression] = []
        for arg, key in zip(args, keys, strict=True):
            direction = "DESC" if key.descending else "ASC"
            placed = f"{direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for tree in _sort_forms(arg, key.column.type):
                parts += [tree, string(placed)]
        # Of a few bytes in all, DuckDB makes a number instead.
        parts += [string(""), string("ASC NULLS LAST")]
        return call("CREATE_SORT_KEY", *parts)

    return _function(SORT_KEY, columns, t.BYTEA, build)


def _sort_forms(tree: exp.Expression, typ: SqlType) -> list[exp.Expression]:
    if typ.pg is not t.INTERVAL:
        return order_keys(tree, typ, "local")
    parts = fields("local", tree)
    text = "(CAST($1 AS HUGEINT) * 30 + $2) * 86400000000 + $3"
    return [place(parse("local", text), [parts.months, parts.days, parts.micros])]

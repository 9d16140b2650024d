"""From a physical plan to the specs of its participants (`engine.plan_ir.spec`): compiled fragments, edges with their
schemas.

A fragment that feeds a hash or a range router, or an ordered merge, computes the values that these use in the last
columns of its statement: `sort_key`, bytes whose order is the edge's, and then `bucket`, the number of the receiver.
Both are ordinary expressions of an EVALUATOR on top of the fragment (below its SORT, if it has one), so that one
compiler decides where they may stand.

**bucket** is DuckDB's hash of the keys, modulo the number of receivers. Keys of one class
(`engine.planner.distribute.hashing`) are first brought to one form: exact numbers are rounded to integers (their scales
may differ from side to side; rounding is exact and the same for equal values, where a double would not be), floats
become doubles, bpchar has no trailing blanks. A fragment that Spark runs has no such column: the sending task asks
DuckDB for it (`RouterSpec.parting`), from the columns that the edge carries. A range router's number is a CASE of
comparisons with its bounds, integers among them as bigints.

**sort_key** is DuckDB's `create_sort_key`, in the C collation, with NaN last and infinities in their places. It would
compare an interval's fields instead of its length, so the length is computed first.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import Table
from engine.contracts.memory_share import MemoryShare
from engine.contracts.output_cast import carrier_of
from engine.plan_ir.expr import Expr, Node, ParamRef
from engine.plan_ir.logical import Limit, Root, TableReader
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
from engine.planner.distribute.outlets import BUCKET, SORT_KEY, bucket_number, outlet
from engine.planner.optimizer.ordering import asks_for_order
from engine.sql.trees.build import with_alias
from wire.types.user_types import type_told


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
    """Encode a plan for its participants. Returns the encoded SharedSpec, and the spec of each member, which includes
    the former, encoded once.

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
    number = with_alias(bucket_number(edge.router, keys, target), BUCKET)
    return RouterSpec(kind, to_sql(exp.Select(expressions=[number]).from_("part"), "local"))


# -- fragments -------------------------------------------------------------------------------------------------------


class _Compiled:
    """A fragment compiled for the members that run it. Statements that differ by instance are compiled once for each
    kind.
    """

    def __init__(self, plan: PhysicalPlan, fragment: Fragment, bindings: Bindings) -> None:
        self._fragment = fragment
        self._bindings = bindings
        root = fragment.root if fragment.output is None else outlet(plan, fragment)
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
        """Compile an instance for Spark. Spark names its tables by their content, so each instance has tables of its
        own, and a statement that names them.
        """
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
    """Return the plan with these readers reading exactly these files."""

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
    """Return (rows to skip, rows to pass on or -1) of a root fragment that only passes its input on; None for any
    other.
    """
    node = root.input if isinstance(root, Root) else root
    limit = node if isinstance(node, Limit) and not node.with_ties else None
    received = node if limit is None else limit.input
    if not isinstance(received, Receive) or received.columns != root.columns:
        return None
    if limit is None:
        return 0, -1
    return _number(limit.offset, 0, parameters), _number(limit.count, -1, parameters)


def _number(count: Expr | None, unbounded: int, parameters: Mapping[int, Any]) -> int:
    value = parameters[count.index] if isinstance(count, ParamRef) else getattr(count, "value", None)
    return unbounded if value is None else int(value)

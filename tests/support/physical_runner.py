"""A runner of physical plans in one process, from the specs that members would receive: for tests of the planner,
without a mesh.

The specs are decoded from their bytes. Fragments run one after the other, producers first. Each instance runs on its
own DuckDB cursor, which is set up as a member's. An edge is a table for each pair of instances; the rows are
partitioned by `bucket` and merged by `sort_key`, as the exchange's operators do it batch by batch. The runner asserts
the invariants on which those operators rely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from engine.contracts.executor import OutputColumn
from engine.contracts.output_cast import carrier_schema, carry_to, match_dimensions
from engine.exchange.routers import part_by_bucket
from engine.executors.local import division as _division  # noqa: F401  (registers its functions)
from engine.executors.local import json_functions as _json_functions  # noqa: F401
from engine.executors.local import powers as _powers  # noqa: F401
from engine.executors.local import roots as _roots  # noqa: F401
from engine.executors.local.database import LocalCursor, LocalDatabase
from engine.executors.local.statement_check import require_compiled
from engine.plan_ir.physical import PhysicalPlan, relation_of
from engine.plan_ir.spec import EdgeSpec, FragmentSpec, InstanceSpec, MemberSpec, SharedSpec
from engine.planner.codegen import Bindings
from engine.planner.distribute.dispatch import specs
from engine.storage.infinities import with_infinities, without_infinities

PAGE_BYTES = 1 << 20
#: Rows by edge, producing instance and consuming instance.
Streams = dict[tuple[int, int, int], pa.Table]


class PhysicalRunner:
    """The execution of one query. read: the files that each member has read, for tests of placement."""

    def __init__(self, database: LocalDatabase, time_zone: str = "UTC") -> None:
        self.read: dict[str, set[str]] = {}
        self._database = database
        self._zone = time_zone
        self._streams: Streams = {}

    def run(self, plan: PhysicalPlan, bindings: Bindings | None = None) -> pa.Table:
        """Return the rows of the root fragment, as carrier types."""
        encoded, members = specs(plan, bindings or Bindings(), self._zone, PAGE_BYTES)
        told = {
            name: msgspec.msgpack.decode(msgspec.msgpack.encode(spec), type=MemberSpec)
            for name, spec in members.items()
        }
        assert all(bytes(spec.shared) == encoded for spec in told.values()), "the shared part is sent as it was encoded"
        shared = msgspec.msgpack.decode(encoded, type=SharedSpec)
        schema = carrier_schema([OutputColumn(c.label, c.type) for c in plan.root.root.columns])
        result = None
        for fragment in shared.fragments:
            for member, spec in told.items():
                for instance in spec.instances:
                    if instance.fragment == fragment.id:
                        result = self._instance(shared, fragment, instance, member, schema)
        assert result is not None, "the root gives the result"
        return result

    def _instance(
        self, shared: SharedSpec, fragment: FragmentSpec, instance: InstanceSpec, member: str, schema: pa.Schema
    ) -> pa.Table:
        edges = {edge.id: edge for edge in shared.edges}
        inputs = {relation_of(number): self._input(edges[number], instance.instance) for number in fragment.inputs}
        output = None if fragment.output is None else edges[fragment.output]
        if output is not None:
            assert output.senders[instance.instance] == member
            schema = pa.ipc.read_schema(pa.py_buffer(output.schema))
            if output.router.kind in ("hash", "range"):
                schema = schema.append(pa.field("bucket", pa.int32()))
        statement = instance.statement or fragment.statement
        if statement is None:
            [rows] = inputs.values()
            return rows.slice(fragment.skip, None if fragment.count < 0 else fragment.count)
        if output is not None:
            # As a member does it that runs what another has compiled.
            require_compiled(statement, frozenset(inputs))
        rows = self._execute(statement, instance, inputs, schema, member)
        if output is not None:
            self._send(output, instance.instance, rows)
        return rows

    def _execute(
        self, statement: str, instance: InstanceSpec, inputs: Mapping[str, pa.Table], schema: pa.Schema, member: str
    ) -> pa.Table:
        parameters: dict[str, Any] = {}
        for reader in instance.readers:
            self.read.setdefault(member, set()).update(reader.files)
            parameters[f"r{reader.reader}"] = list(reader.files)
            if reader.rows is not None:
                parameters[f"r{reader.reader}_first"], parameters[f"r{reader.reader}_end"] = reader.rows
            if reader.keys is not None:
                parameters[f"r{reader.reader}_low"], parameters[f"r{reader.reader}_high"] = reader.keys
        cursor = self._database.borrow(self._zone)
        try:
            for name, rows in inputs.items():
                cursor.hold(name, _for_duckdb(rows))
            found = _all(cursor, statement, parameters, schema)
            cursor.forget_inputs()
        except BaseException:
            self._database.give_back(cursor, healthy=False)
            raise
        self._database.give_back(cursor, healthy=True)
        return found

    def _send(self, edge: EdgeSpec, sender: int, rows: pa.Table) -> None:
        receivers = range(len(edge.receivers))
        schema = pa.ipc.read_schema(pa.py_buffer(edge.schema))
        for receiver in receivers:
            self._streams[edge.id, sender, receiver] = schema.empty_table()
        match edge.router.kind:
            case "single":
                assert len(edge.receivers) == 1
                self._streams[edge.id, sender, 0] = rows
            case "mirror":
                self._streams.update({(edge.id, sender, receiver): rows for receiver in receivers})
            case "hash" | "range":
                for batch in rows.combine_chunks().to_batches():
                    for receiver, part in part_by_bucket(batch, len(edge.receivers)):
                        self._streams[edge.id, sender, receiver] = pa.Table.from_batches([part])

    def _input(self, edge: EdgeSpec, receiver: int) -> pa.Table:
        streams = [self._streams[edge.id, sender, receiver] for sender in range(len(edge.senders))]
        rows = pa.concat_tables(streams)
        if edge.synchronizer != "ordered":
            return rows
        for stream in streams:
            keys = stream.column("sort_key").to_pylist()
            assert keys == sorted(keys), "a stream of an ordered edge comes in the order of its keys"
        return rows.take(pc.sort_indices(rows, [("sort_key", "ascending")])).drop_columns(["sort_key"])


def _all(cursor: LocalCursor, statement: str, parameters: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    reader = cursor.run(statement, (), 2048, parameters)
    given = reader.schema.names
    assert given == schema.names or not schema.names, f"columns {given}, the edge has {schema.names}"
    batches = []
    for batch in reader:
        if not schema.names:
            batches.append(batch.select([]))
        else:
            batches.append(with_infinities(carry_to(batch, match_dimensions(schema, batch.schema))))
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)


def _for_duckdb(rows: pa.Table) -> pa.Table:
    return pa.Table.from_batches([without_infinities(batch) for batch in rows.to_batches()], rows.schema)

"""The sources of one query's instances on one member: the stream that an engine makes of a fragment's statement, its
inputs and its files.

A member reads only the files that it finds and permits itself, by its own topology and roots
(`engine.runtime.readable_files`), and runs only statements that it recognises (`engine.runtime.peer_statements`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.contracts.executor import ExecutionContext
from engine.contracts.profile import Operator, by_files, counters, reader_source, with_sources
from engine.contracts.query_id import QueryId
from engine.exchange.limit import LimitedRows
from engine.exchange.schemas import stream_schema
from engine.executors.local.stream import LocalStream
from engine.executors.local.work import LocalWork
from engine.executors.spark.rows import SparkRows
from engine.plan_ir.physical import relation_of
from engine.plan_ir.spec import EdgeSpec, FragmentSpec, InstanceSpec, MemberSpec, ReaderSpec, SharedSpec
from engine.planner.codegen.files import plain_path
from engine.runtime.peer_statements import PART, PeerStatements
from engine.runtime.run_inputs import RunInputs
from engine.runtime.run_services import Host, Source

_BUCKET: Final = pa.field("bucket", pa.int32())


class InstanceSources:
    """See the module's docstring. inputs: the streams into this member. statements: as in `QueryRun`."""

    def __init__(
        self,
        host: Host,
        query: str,
        shared: SharedSpec,
        spec: MemberSpec,
        inputs: RunInputs,
        statements: PeerStatements | None,
    ) -> None:
        self._host = host
        self._query = query
        self._shared = shared
        self._trace = spec.trace
        self._inputs = inputs
        self._statements = statements
        self._reading: dict[tuple[int, int], Sequence[ReaderSpec]] = {}

    def open(self, fragment: FragmentSpec, instance: InstanceSpec, edge: EdgeSpec) -> Source:
        """Return the source of the fragment's edge: its rows or, for a change, the report of what was written."""
        spec = fragment.mutation
        if spec is not None and fragment.engine == "spark":
            return self._host.writers.intents_of_tasks(
                functools.partial(self._spark_rows, instance, stream_schema(spec.input)), self.context(), spec
            )
        is_judged = instance.readers or self._statements is not None
        find = functools.partial(self._reader_parameters, fragment, instance) if is_judged else None
        source = self.read(fragment, instance, _rows_schema(fragment, edge), find)
        return source if spec is None else self._host.writers.intents(source, spec, self._shared.memory)

    def _spark_rows(self, instance: InstanceSpec, schema: pa.Schema) -> SparkRows:
        """Return the rows of a statement for Spark. May block."""
        assert instance.statement is not None, "on Spark each instance has a statement of its own"
        return SparkRows(instance.statement, self.tables(instance, None), schema)

    def tables(self, instance: InstanceSpec, parting: str | None) -> Mapping[str, Table]:
        """Return the tables of an instance on Spark, by name, after checking its statement. parting: as in
        `RouterSpec`. May block. Raises SqlError.
        """
        tables = self._host.files.of(instance).tables
        if self._statements is not None:
            statement, names = instance.statement or "", frozenset(tables)
            self._host.files.require(self._statements.require(self._query, self._host.spark.name, statement, names))
            if parting is not None:
                self._host.files.require(self._statements.require(self._query, "local", parting, PART))
        return tables

    def context(self) -> ExecutionContext:
        """Return the context of the query for Spark."""
        return ExecutionContext(
            QueryId.parse(self._query),
            self._shared.time_zone,
            self._shared.page_bytes,
            analyze=self._shared.analyze,
            trace=self._trace,
        )

    def _reader_parameters(self, fragment: FragmentSpec, instance: InstanceSpec) -> Mapping[str, Any]:
        """Return the parameters for the instance's readers: the files that this member has found and that it allows to
        be read. Also checks the statement of the instance. May block. Raises SqlError.
        """
        statement = instance.statement or fragment.statement
        if self._statements is not None and statement is not None:
            inputs = frozenset(map(relation_of, fragment.inputs))
            self._host.files.require(self._statements.require(self._query, "local", statement, inputs))
        readers = self._reading[instance.fragment, instance.instance] = self._host.files.of(instance).readers
        return _parameters(readers)

    def read(
        self,
        fragment: FragmentSpec,
        instance: InstanceSpec,
        schema: pa.Schema,
        find: Callable[[], Mapping[str, Any]] | None,
    ) -> Source:
        """Return the rows of an instance's statement, or of its input if it has no statement.

        schema: of the batches, in carriers. find: as in `LocalWork`; None: it reads what the instance names, because
        this member has compiled it itself.
        """
        inflows = self._inputs.relations_of(fragment, instance)
        statement = instance.statement or fragment.statement
        if statement is None:
            [only] = inflows.values()
            return _Passed(LimitedRows(only, fragment.skip, fragment.count))
        return self._host.local.run(
            LocalWork(
                statement,
                schema,
                self._shared.page_bytes,
                self._shared.time_zone,
                parameters={} if find is not None else _parameters(instance.readers),
                inputs=inflows,
                find=find,
                analyze=self._shared.analyze,
                memory=self._shared.memory,
                query=self._query,
            )
        )

    def operators(self, source: Source, instance: InstanceSpec) -> Mapping[str, int]:
        """Return the counters by operator of an instance's engine, after its end (`engine.contracts.profile`)."""
        reading = self._reading.get((instance.fragment, instance.instance), ())
        files = ((reader_source(reader.reader), map(plain_path, reader.files)) for reader in reading)
        return operator_counters(source.operators if isinstance(source, LocalStream) else None, instance, files)


def operator_counters(
    counted: Operator | None, instance: InstanceSpec, files: Iterable[tuple[str, Iterable[str]]]
) -> Mapping[str, int]:
    """Return the counters of an instance's engine, under the names of its sources."""
    if counted is None:
        return {}
    prefix = f"operator.{instance.fragment}.{instance.instance}"
    return counters(with_sources(counted, by_files(files)), prefix)


class _Passed:
    """A root that returns its input unchanged."""

    def __init__(self, rows: LimitedRows) -> None:
        self._rows = rows

    async def next_batch(self) -> pa.RecordBatch | None:
        return await self._rows.next_batch()

    async def close(self) -> None:
        """Do nothing: the query closes its input."""


def _rows_schema(fragment: FragmentSpec, edge: EdgeSpec) -> pa.Schema:
    """Return the schema of the rows that a fragment's statement delivers to its router or into files."""
    if fragment.mutation is not None:
        return stream_schema(fragment.mutation.input)
    schema = stream_schema(edge.schema)
    return schema.append(_BUCKET) if edge.router.kind in ("hash", "range") else schema


def _parameters(readers: Sequence[ReaderSpec]) -> Mapping[str, Any]:
    """Return the values of the parameters by which the statement reads files (`engine.planner.distribute.dispatch`)."""
    values: dict[str, Any] = {}
    for reader in readers:
        values[f"r{reader.reader}"] = list(reader.files)
        if reader.rows is not None:
            values[f"r{reader.reader}_first"], values[f"r{reader.reader}_end"] = reader.rows
        if reader.keys is not None:
            values[f"r{reader.reader}_low"], values[f"r{reader.reader}_high"] = reader.keys
    return values

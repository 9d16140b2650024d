"""The data of simulated clusters: a few small tables in files, planned by the real planner; and the right answers.

The files are made once, in a folder that many runs share as their working directory: the tables never change.
`Lake.planned` returns the optimised plan of a statement, and `Lake.answer` the rows that it returns as one fragment on
one DuckDB; both are cached. That DuckDB, which has one thread, also serves the local engines of all members
(`Lake.answers`); each member has its own cursors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.model.objects import Table
from engine.contracts.mesh import AloneMesh, MemberInfo, Mesh
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.lakes.infer import infer_columns
from engine.pg_catalog.fixed_catalog import FixedCatalog
from engine.plan_ir.logical import Root as Plan
from engine.plan_ir.spec import SharedSpec
from engine.plan_ir.topology import Topology
from engine.planner.codegen import Bindings, to_sql
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.planner import optimise
from engine.sql.binder import bind_query
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery, compile_query, data_members
from engine.statements.shared.terms import Terms
from simulated.sources import RememberedAnswers
from wire.types.text_settings import InputSettings

#: The time that a session would provide: 2023-11-14 22:13:20 UTC.
BINDINGS: Final = Bindings(context={"now": 1_700_000_000_000_000, "statement_timestamp": 1_700_000_000_000_000})
_PLANS: Final = 4096
#: In plans as they are remembered.
_PAGE_BYTES: Final = 1 << 12
#: Name to (files, rows a file).
_SIZES: Final[Mapping[str, tuple[int, int]]] = {"t": (6, 60), "u": (3, 40), "d": (1, 12), "e": (1, 0)}


def make_files(folder: Path) -> None:
    """Write the tables: t(id, k, g, v, s), u(id, k, w), d(g, name) and e, which is empty. `id` is unique, k joins t and
    u, g joins t and d.
    """
    for name, (files, rows) in _SIZES.items():
        (folder / name).mkdir(parents=True)
        for number in range(files):
            pq.write_table(_rows(name, number * rows, rows), folder / name / f"{number}.parquet")


def _rows(name: str, first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    match name:
        case "t":
            texts = [None if i % 11 == 0 else f"row {i:05}" for i in ids]
            values = pa.array([None if i % 7 == 0 else (i * 7919) % 1000 for i in ids], pa.int64())
            return pa.table(
                {"id": pa.array(ids, pa.int64()), "k": pa.array([i % 50 for i in ids], pa.int32()), "g": pa.array(
                    [i % 10 for i in ids], pa.int32()), "v": values, "s": pa.array(texts, pa.string())}
            )  # fmt: skip
        case "d":
            return pa.table({"g": pa.array(ids, pa.int32()), "name": [f"group {i}" for i in ids]})
        case _:
            keys = pa.array([(i * 3) % 70 for i in ids], pa.int32())
            return pa.table(
                {"id": pa.array(ids, pa.int64()), "k": keys, "w": pa.array([i * 10 for i in ids], pa.int64())}
            )


class Lake:
    """The data and the answers; see the module's docstring. folder: the folder in which `make_files` has written the
    tables. Its owner closes it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = LocalDatabase(EngineConfig(folder / "database", local_threads=1, local_memory="512MB"))
        self.answers = RememberedAnswers(self.database)
        self._catalog = FixedCatalog({name: self._table(name, number) for number, name in enumerate(_SIZES)})
        self.planned: Callable[[str], Plan] = lru_cache(_PLANS)(self._plan)
        self.answer: Callable[[str], pa.Table] = lru_cache(_PLANS)(self._answer)
        self._compiled: Callable[..., CompiledQuery] = lru_cache(_PLANS)(self._compile)

    def close(self) -> None:
        self.database.close()

    def excused(self) -> tuple[str, ...]:
        """The SQLSTATEs of excused errors: none, because the files never change."""
        return ()

    def compile(self, text: str, terms: Terms, mesh: Mesh, topology: Topology | None) -> CompiledQuery:
        """Compile a statement as it would run from that member now. Raises SqlError."""
        able = data_members(mesh)
        query = self._compiled(text, replace(terms, page_bytes=_PAGE_BYTES), topology, mesh.member, able)
        if isinstance(query.runs, CompiledFragment):
            return query
        return replace(query, runs=_with_page_size(query.runs, terms.page_bytes))

    def _compile(
        self, text: str, terms: Terms, topology: Topology | None, member: str, able: tuple[str, ...]
    ) -> CompiledQuery:
        return compile_query(self.planned(text), terms, BINDINGS, _Seen(member, able), topology)

    def _plan(self, text: str) -> Plan:
        return plan_query(text, self._catalog)

    def _answer(self, text: str) -> pa.Table:
        info = MemberInfo("oracle", "1", "", "", "data", "up", 0, "", local=True)
        query = compile_query(self.planned(text), ALONE, BINDINGS, AloneMesh(info), None)
        assert isinstance(query.runs, CompiledFragment), "on one member it is one fragment"
        cursor = self.database.borrow("UTC")
        try:
            reader = cursor.run(to_sql(query.runs.statement, "local"), query.runs.tables, 1 << 16)
            return reader.read_all().cast(query.runs.schema)
        finally:
            self.database.give_back(cursor, healthy=True)

    def _table(self, name: str, number: int) -> Table:
        files = tuple(sorted(str(file) for file in (self.folder / name).iterdir()))
        columns = infer_columns(files, "parquet", {})
        return Table(20_000 + number, "public", name, columns, "parquet", files[0], files, 1, {})


def plan_query(text: str, catalog: FixedCatalog) -> Plan:
    """Return the optimised plan of a query over the relations of a catalog."""
    (query,) = parse(text)
    assert isinstance(query, Query), "only queries are asked"
    context = BindContext(catalog, ("public",), InputSettings(), ParameterTypes(()))
    return optimise(bind_query(query, context).plan)


#: The terms of the right answers.
ALONE: Final = Terms("local", "off", 1 << 30, 1 << 20)


class _Seen(AloneMesh):
    """The members in the form on which a plan depends: those that may run fragments."""

    def __init__(self, member: str, able: Sequence[str]) -> None:
        self._infos = [MemberInfo(name, "", "", "", "data", "up", 0, "", local=name == member) for name in able]
        super().__init__(next(info for info in self._infos if info.local))

    def members(self) -> Sequence[MemberInfo]:
        return self._infos


def _with_page_size(query: DistributedQuery, page_bytes: int) -> DistributedQuery:
    """Return the query with batches of that size, which is the only part of a plan that depends on it."""
    shared = msgspec.structs.replace(SharedSpec.decode(query.shared), page_bytes=page_bytes)
    encoded = msgspec.msgpack.encode(shared)
    raw = msgspec.Raw(encoded)
    members = {name: msgspec.structs.replace(spec, shared=raw) for name, spec in query.members.items()}
    return replace(query, shared=encoded, members=members)

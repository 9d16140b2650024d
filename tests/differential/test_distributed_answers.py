"""What a plan gives over several members is what it gives on one: the corpus' statements over tables, and TPC-H's queries.

Both are run by DuckDB in this process; the distributed one from the specs that members would be told (`physical_runner`). The
layouts differ in what the planner can do: several files a table, one file of several row groups, files pinned at random to members;
small sides read whole, or never.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answers import Answer, differences
from physical_runner import PhysicalRunner
from test_same_answers import CORPUS
from tpch import TABLES

from benchmarks.tpch_queries import queries
from engine.catalog.infer import infer_columns
from engine.catalog.objects import Relation, Table
from engine.config import EngineConfig
from engine.local.database import LocalDatabase
from engine.plan.compile import Bindings, Unsupported
from engine.plan.distribute import Setting, distribute
from engine.plan.logical import Final, TableReader
from engine.plan.physical import Fragment, Instance, PhysicalPlan
from engine.plan.planner import optimise
from engine.plan.rewrite import walk_all
from engine.sql.binder import bind_query
from engine.sql.parser import parse
from engine.sql.scope import BindContext, ParameterTypes
from engine.sql.statements import Query
from wire.errors import SqlError
from wire.text_settings import InputSettings

MEMBERS = ("a", "b", "c")
#: What a session would tell.
CONTEXT = {"now": 1_700_000_000_000_000, "statement_timestamp": 1_700_000_000_000_000, "current_user": "me"}


@dataclass(frozen=True)
class Layout:
    """TPC-H's tables in files. pinned: to members."""

    name: str
    tables: dict[str, Table]
    mirror_limit: int
    pinned: dict[str, str] = field(default_factory=dict)

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> Relation | None:
        del schema, search_path
        return self.tables.get(name)

    def has_schema(self, name: str) -> bool:
        return name == "public"

    def plan(self, text: str) -> Final:
        (query,) = parse(text)
        if not isinstance(query, Query):
            pytest.skip("not a query")
        context = BindContext(self, ("public",), InputSettings(), ParameterTypes(()))
        return optimise(bind_query(query, context).plan)

    def setting(self) -> Setting:
        return Setting(MEMBERS, "a", self.pinned, mirror_limit=self.mirror_limit)


def _generate(folder: Path, *options: str) -> Path:
    tool = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run(
        [str(tool), "parquet", "-s", "0.01", "--output-dir", str(folder), *options], check=True, capture_output=True
    )
    return folder


def _tables(folder: Path) -> dict[str, Table]:
    tables = {}
    for oid, name in enumerate(TABLES, 20_000):
        whole = folder / f"{name}.parquet"
        files = tuple(map(str, [whole] if whole.exists() else sorted((folder / name).glob("*.parquet"))))
        tables[name] = Table(oid, "public", name, infer_columns(files, "parquet", {}), "parquet", files[0], files, 1)
    return tables


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Layout]:
    folder = tmp_path_factory.mktemp("layouts")
    parts = _tables(_generate(folder / "parts", "--parts", "4"))
    whole = _generate(folder / "whole")
    grouped = folder / "grouped"
    grouped.mkdir()
    for name in TABLES:
        rows = pq.read_table(whole / f"{name}.parquet")
        pq.write_table(rows, grouped / f"{name}.parquet", row_group_size=max(5, rows.num_rows // 7))
    random = Random(11)
    pinned = {file: random.choice(MEMBERS) for table in parts.values() for file in table.files}
    return {
        "parts": Layout("parts", parts, 0),
        "groups": Layout("groups", _tables(grouped), 20_000),
        "pinned": Layout("pinned", parts, 20_000, pinned),
    }


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _statements() -> Iterator[Any]:
    for name, text in queries().items():
        yield pytest.param(text.strip().rstrip(";"), "", id=f"tpch-{name}")
    for file in sorted(CORPUS.glob("*.sql")):
        parts = re.findall(r"(.+?);[ \t]*(-- [^\n]*)?(?:\n|$)", file.read_text(), re.DOTALL)
        for number, (text, marks) in enumerate(parts, 1):
            if any(re.search(rf"\b{table}\b", text) for table in TABLES):
                yield pytest.param(text.strip(), marks, id=f"{file.stem}-{number}")


def _on_one(plan: Final) -> PhysicalPlan:
    return PhysicalPlan("a", (Fragment(1, plan, (Instance("a"),)),), (), "")


def _answer(plan: PhysicalPlan, final: Final, database: LocalDatabase) -> Answer:
    try:
        rows = PhysicalRunner(database).run(plan, Bindings(context=CONTEXT))
    except SqlError as error:
        return Answer(error.sqlstate)
    except Exception as error:  # noqa: BLE001 - DuckDB's, which only the executor translates
        found = re.search(r"SQLSTATE:(\w{5})", str(error))
        if found is None and "XX" not in str(error):
            return Answer(type(error).__name__)
        return Answer(found[1] if found else "XX000")
    columns = tuple((c.name, c.type.pg.oid) for c in final.columns)
    return Answer(None, columns, tuple(zip(*(_texts(column) for column in rows.columns), strict=True)))


def _texts(column: Any) -> list[str | None]:
    typ = column.type
    if pa.types.is_nested(typ) or pa.types.is_interval(typ) or pa.types.is_binary(typ):
        return [None if value is None else str(value) for value in column.to_pylist()]
    if pa.types.is_date(typ) or pa.types.is_timestamp(typ) or pa.types.is_time(typ):
        column = column.cast(pa.int32() if pa.types.is_date(typ) else pa.int64())
    return [None if value is None else str(value) for value in column.to_pylist()]


@pytest.mark.parametrize("layout", ["parts", "groups", "pinned"])
@pytest.mark.parametrize(("text", "marks"), list(_statements()))
def test_distributed_is_one(
    layouts: dict[str, Layout], database: LocalDatabase, layout: str, text: str, marks: str
) -> None:
    chosen = layouts[layout]
    try:
        plan = chosen.plan(text)
        want = _answer(_on_one(plan), plan, database)
    except (SqlError, Unsupported):
        pytest.skip("not for this engine")
    if not any(isinstance(node, TableReader) for node in walk_all(plan)):
        pytest.skip("reads no table")
    physical = distribute(plan, chosen.setting())
    got = _answer(physical, plan, database)
    different = differences(want, got, "ordered" in marks)
    assert different is None, f"{text}\n{different}"

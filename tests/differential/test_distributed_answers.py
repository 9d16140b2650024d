"""Plans over several members return the same as plans on one: the corpus' statements over tables, and TPC-H's queries.

DuckDB in this process runs both, the distributed plan from the specs that members would receive (`physical_runner`).
The layouts differ in the choices that the planner has: several files a table, one file of several row groups, files
pinned at random to members; small sides replicated, or never.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.answers import differences
from support.distributed_ground import MEMBERS, Layout, answer, on_one, table
from support.tpch import TABLES, generate
from test_same_answers import CORPUS

from benchmarks.tpch_queries import queries
from engine.catalog.model.objects import Table
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.logical import TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.distribute import distribute


def _tables(folder: Path) -> dict[str, Table]:
    tables = {}
    for name in TABLES:
        whole = folder / f"{name}.parquet"
        files = tuple(map(str, [whole] if whole.exists() else sorted((folder / name).glob("*.parquet"))))
        tables[name] = table(name, files)
    return tables


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Layout]:
    folder = tmp_path_factory.mktemp("layouts")
    parts = _tables(generate(folder / "parts", 0.01, "parquet", parts=4))
    whole = generate(folder / "whole", 0.01, "parquet")
    grouped = folder / "grouped"
    grouped.mkdir()
    for name in TABLES:
        rows = pq.read_table(whole / f"{name}.parquet")
        pq.write_table(rows, grouped / f"{name}.parquet", row_group_size=max(5, rows.num_rows // 7))
    random = Random(11)
    pinned = {file: random.choice(MEMBERS) for table in parts.values() for file in table.files}
    return {
        "parts": Layout(parts),
        "groups": Layout(_tables(grouped), 20_000),
        "pinned": Layout(parts, 20_000, pinned=pinned),
    }


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _statements() -> Iterator[Any]:
    """Return the statements that read a table."""
    for name, text in queries().items():
        yield pytest.param(text.strip().rstrip(";"), "", id=f"tpch-{name}")
    for file in sorted(CORPUS.glob("*.sql")):
        parts = re.findall(r"(.+?);[ \t]*(-- [^\n]*)?(?:\n|$)", file.read_text(), re.DOTALL)
        for number, (text, marks) in enumerate(parts, 1):
            if "no plan" not in marks and any(re.search(rf"\b{name}\b", text) for name in TABLES):
                yield pytest.param(text.strip(), marks, id=f"{file.stem}-{number}")


@pytest.mark.table
@pytest.mark.parametrize("layout", ["parts", "groups", "pinned"])
@pytest.mark.parametrize(("text", "marks"), list(_statements()))
def test_distributed_is_one(
    layouts: dict[str, Layout], database: LocalDatabase, layout: str, text: str, marks: str
) -> None:
    chosen = layouts[layout]
    plan = chosen.plan(text)
    assert any(isinstance(node, TableReader) for node in walk_all(plan)), "it reads no table"
    want = answer(on_one(plan), plan, database)
    got = answer(distribute(plan, chosen.setting()), plan, database)
    different = differences(want, got, "ordered" in marks)
    assert different is None, f"{text}\n{different}"

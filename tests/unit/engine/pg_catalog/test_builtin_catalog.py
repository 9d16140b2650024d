"""PostgreSQL's own rows in the system catalog: they equal those of a running PostgreSQL 15, and include everything that
the function table needs.
"""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path
from typing import Final

import psycopg
import pyarrow.parquet as pq
import pytest
from support.postgres_server import PostgresServer
from support.syntax_names import SYNTAX

from engine.pg_catalog import FAMILIES, SYSTEM, builtin
from engine.pg_catalog.system_function_sql import FOLDER
from engine.sql.functions.registry import CALLABLE, registry

_SCRIPT = Path(__file__).parents[4] / "scripts" / "extract_catalog.py"


@pytest.mark.postgres
def test_the_files_are_what_postgres_says(postgres: PostgresServer) -> None:
    script = runpy.run_path(str(_SCRIPT))
    with psycopg.connect(postgres.dsn) as connection:
        assert script["shapes"](connection).equals(pq.read_table(FOLDER / "shapes.parquet")), "run make catalog"
        for relation in script["stored"]():
            kept = pq.read_table(FOLDER / f"{relation.name}.parquet")
            assert script["extract"](relation, connection).equals(kept), f"{relation.name}: run make catalog"


#: PostgreSQL has them where the extension has been created.
_OF_EXTENSIONS: Final = frozenset({"pg_stat_statements_reset"})


def test_every_function_has_its_row() -> None:
    table = builtin.rows("pg_proc")
    listed = {
        (name, *args) for name, args in zip(*(table[c].to_pylist() for c in ("proname", "proargtypes")), strict=True)
    }
    rows = (row for row in registry().rows if row.kind in CALLABLE and row.name not in {*SYNTAX, *_OF_EXTENSIONS})
    assert [row for row in rows if builtin.signature(row) not in listed] == []


def test_every_operator_has_its_row() -> None:
    table = builtin.rows("pg_operator").select(["oprname", "oprleft", "oprright"]).to_pylist()
    listed = {(row["oprname"], row["oprleft"], row["oprright"]) for row in table}
    for row in registry().rows:
        if row.kind == "operator":
            left, right = ([0] + [arg.oid for arg in row.args])[-2:]
            assert (row.name, left, right) in listed, row


def test_aggregates_are_functions() -> None:
    assert set(builtin.rows("pg_aggregate")["aggfnoid"].to_pylist()) <= set(builtin.rows("pg_proc")["oid"].to_pylist())
    assert builtin.functions_named("no_such_function") == ()
    assert len(builtin.functions_named("abs")) == 6


def test_system_relations_have_oids_of_their_own() -> None:
    oids = Counter(relation.oid for relation in SYSTEM.values())
    assert [oid for oid, count in oids.items() if count > 1] == []
    declared = Counter(relation.key for module in FAMILIES for relation in module.SYSTEM)
    assert [key for key, count in declared.items() if count > 1] == []

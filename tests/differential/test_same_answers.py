"""The same statement on Spark, in process and on PostgreSQL 15: the same columns, the same rows, the same SQLSTATE.

The corpus lies in `corpus/`, by topic, one statement after the other. `-- ordered` behind one says that the order of its
rows is told; otherwise they compare as a multiset. `-- refused: spark` names the engines that lack what it needs and must
say so with 0A000; when one has learnt it, this fails and the mark goes. Values compare as PostgreSQL prints them; floats may
differ in the last digits, since their sums depend on the order of addition.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from member_process import MemberProcess, register_tpch
from postgres_server import PostgresServer
from tpch import generate, load_into_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
CORPUS = Path(__file__).parent / "corpus"
FLOATS = (700, 701)
Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class Answer:
    """What a server said: an SQLSTATE, or columns (name, type OID) and rows as text."""

    sqlstate: str | None = None
    columns: tuple[tuple[str, int], ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()


def ask(connection: Connection, statement: str) -> Answer:
    try:
        result = connection.execute(statement.encode()).pgresult
    except psycopg.Error as error:
        return Answer(sqlstate=error.sqlstate or type(error).__name__)
    assert result is not None
    columns = tuple(((result.fname(i) or b"").decode(), result.ftype(i)) for i in range(result.nfields))
    rows = tuple(
        tuple(None if (v := result.get_value(r, c)) is None else v.decode() for c in range(result.nfields))
        for r in range(result.ntuples)
    )
    return Answer(None, columns, rows)


def same_value(oid: int, a: str | None, b: str | None) -> bool:
    if a == b or a is None or b is None or oid not in FLOATS:
        return a == b
    return math.isclose(float(a), float(b), rel_tol=1e-6 if oid == 700 else 1e-12, abs_tol=1e-300)


def differences(want: Answer, got: Answer, ordered: bool) -> str | None:
    """What differs, in words, or None."""
    if want.sqlstate != got.sqlstate:
        return f"SQLSTATE {got.sqlstate}, PostgreSQL says {want.sqlstate}"
    if want.columns != got.columns:
        return f"columns {got.columns}, PostgreSQL says {want.columns}"
    if len(want.rows) != len(got.rows):
        return f"{len(got.rows)} rows, PostgreSQL says {len(want.rows)}"
    wanted, given = list(want.rows), list(got.rows)
    if not ordered:
        wanted, given = (sorted(rows, key=lambda r: [(v is None, v or "") for v in r]) for rows in (wanted, given))
    for w, g in zip(wanted, given, strict=True):
        if not all(same_value(oid, a, b) for (_, oid), a, b in zip(want.columns, w, g, strict=True)):
            return f"row {g}, PostgreSQL says {w}"
    return None


def statements() -> Iterator[Any]:
    for file in sorted(CORPUS.glob("*.sql")):
        parts = re.findall(r"(.+?);[ \t]*(-- [^\n]*)?(?:\n|$)", file.read_text(), re.DOTALL)
        for number, (text, marks) in enumerate(parts, 1):
            yield pytest.param(text.strip(), marks, id=f"{file.stem}-{number}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpch")


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer, folder: Path) -> Iterator[Connection]:
    parquet = generate(folder / "parquet", 0.01, "parquet")
    csv = generate(folder / "csv", 0.01, "csv")
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("create schema same_answers")
        connection.execute("set search_path = same_answers")
        load_into_postgres(connection, parquet, csv)
        yield connection
        connection.execute("drop schema same_answers cascade")


@pytest.fixture(scope="module")
def member(oracle: Connection, folder: Path) -> Iterator[MemberProcess]:
    del oracle
    with MemberProcess(folder / "member") as member:
        with member.connect() as connection:
            register_tpch(connection, folder / "parquet")
        yield member


@pytest.fixture(scope="module", params=["local", "spark"])
def sluice(request: pytest.FixtureRequest, member: MemberProcess) -> Iterator[Connection]:
    with member.connect(options=f"-c sluice.engine={request.param}") as connection:
        yield connection


@pytest.mark.parametrize(("statement", "marks"), list(statements()))
def test_same_answer(sluice: Connection, oracle: Connection, statement: str, marks: str) -> None:
    [engine] = sluice.execute("show sluice.engine").fetchone() or ("",)
    refused = re.search(r"refused: ([a-z ]+)", marks)
    if refused is not None and engine in refused[1].split():
        assert ask(sluice, statement).sqlstate == "0A000"
        return
    different = differences(ask(oracle, statement), ask(sluice, statement), "ordered" in marks)
    assert different is None, f"{statement}\n{different}"

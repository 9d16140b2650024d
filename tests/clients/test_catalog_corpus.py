"""The statements that clients send on connect and while browsing, captured from them and taken from their sources: how
many of them run as on PostgreSQL 15, with the same columns. The corpus and its replayer are beside the repository;
without them there is nothing to run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from support.local_member import local_member

_SHARED = Path(__file__).parents[3] / "shared"
_REPLAY, _CORPUS = _SHARED / "tools/catalog_replay.py", _SHARED / "corpora/catalog"
#: Of those that PostgreSQL 15 answers.
_BAR = 0.98
#: What is not here, and what is not there without it.
_REFUSALS = (errors.FeatureNotSupported, errors.UndefinedTable, errors.UndefinedObject)


@pytest.mark.long
@pytest.mark.skipif(not _REPLAY.exists(), reason="the corpus is not beside the repository")
def test_clients_browse_as_on_postgres(tmp_path: Path) -> None:
    with local_member(tmp_path / "member") as member:
        # As whom PostgreSQL was asked: some statements name that role.
        with psycopg.connect(member.dsn, user="postgres", autocommit=True) as connection:
            _create_what_can_be(connection)
        outcomes = tmp_path / "outcomes.tsv"
        where = ("127.0.0.1", str(member.port), "postgres", "sluice", "")
        subprocess.run([sys.executable, str(_REPLAY), *where, str(outcomes)], check=True, capture_output=True)
    rows = [line.split("\t") for line in outcomes.read_text().splitlines()]
    count = Counter(row[0] for row in rows)
    failed = [row for row in rows if row[0] == "failed"]
    assert count["passed"] >= _BAR * (count["passed"] + count["failed"]), failed


def _create_what_can_be(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """The objects that are browsed; some are of kinds that are refused here (functions, composite types)."""
    for statement in filter(None, map(str.strip, re.split(r";\s*\n", (_CORPUS / "schema.ddl").read_text()))):
        with suppress(*_REFUSALS):
            connection.execute(statement.encode())

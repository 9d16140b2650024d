"""The system catalog against PostgreSQL 15: each statement of `catalog/lookups.sql` gives the same for the objects of
`catalog/objects.sql`, and every relation of PostgreSQL's own exists with its columns and can be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local_member import say
from support.member_beside_postgres import Connection, member_beside_postgres
from support.postgres_server import PostgresServer

from engine.pg_catalog.builtin import shapes
from wire.types import pg_types as t

pytestmark = pytest.mark.postgres
_FOLDER = Path(__file__).parent / "catalog"
#: What PostgreSQL's definitions of these views ask for and is not here yet.
_REFUSED = "0A000"


def _statements(name: str) -> list[str]:
    return [text for text in (_FOLDER / name).read_text().split(";\n") if text.strip()]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[tuple[Connection, Connection]]:
    """Connections to a member and to a database of its own in PostgreSQL, each with the same objects."""
    folder = tmp_path_factory.mktemp("browsed")
    with member_beside_postgres(folder, postgres, _statements("objects.sql"), ctype="C.UTF-8") as (ours, theirs):
        # It counts rows in its own time, once a second at most.
        theirs.execute("select pg_stat_force_next_flush()")
        yield ours, theirs


@pytest.mark.table
@pytest.mark.parametrize("statement", _statements("lookups.sql"))
def test_same(both: tuple[Connection, Connection], statement: str) -> None:
    ours, theirs = (say(connection, statement) for connection in both)
    assert ours == theirs


@pytest.mark.long
@pytest.mark.parametrize("schema", ["pg_catalog", "information_schema"])
def test_every_relation_is_there(both: tuple[Connection, Connection], schema: str) -> None:
    """With PostgreSQL's columns; what has a type that is not here is text."""
    ours, _theirs = both
    for name in sorted(name for space, name in shapes() if space == schema):
        select = f"select * from {schema}.{name} limit 0"
        refused = say(ours, select).error
        if refused is not None:
            assert refused[0] == _REFUSED, name
            continue
        found, expected = (connection.execute(select.encode()).description or [] for connection in both)
        assert [c.name for c in found] == [c.name for c in expected], name
        for column, original in zip(found, expected, strict=True):
            known = t.BY_OID.get(original.type_code)
            if known is not None and known.category != "P":
                assert column.type_code == original.type_code, (name, column.name)

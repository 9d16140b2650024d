"""Results of many columns, whose pages are encoded on a thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg import sql
from support.local_member import LocalMember, local_member

COLUMNS, ROWS = 300, 400
#: A null in each row, at another place.
ITEM = "nullif(n + {0}, 300)"
EXPECTED = [tuple(None if n + c == COLUMNS else n + c for c in range(COLUMNS)) for n in range(ROWS)]


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("wide")) as member:
        yield member


def query() -> sql.Composed:
    items = sql.SQL(", ").join(sql.SQL(ITEM).format(sql.Literal(c)) for c in range(COLUMNS))
    return sql.SQL("select {} from generate_series(0, {}) g (n) order by n").format(items, sql.Literal(ROWS - 1))


@pytest.mark.parametrize("binary", [False, True])
def test_rows(sluice: LocalMember, binary: bool) -> None:
    with sluice.connect() as connection, connection.cursor(binary=binary) as cursor:
        assert cursor.execute(query()).fetchall() == EXPECTED


def test_copied_rows(sluice: LocalMember) -> None:
    statement = sql.SQL("copy ({}) to stdout").format(query())
    with sluice.connect() as connection, connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(["int4"] * COLUMNS)
        assert list(copy.rows()) == EXPECTED

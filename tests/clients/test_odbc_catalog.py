"""psqlODBC's catalog functions: their results for a member and for PostgreSQL 15 with the same objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from support.browsing_ground import browsed
from support.odbc import Odbc, OdbcError
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

Call = tuple[str | int | None, ...]
#: SQLStatistics, SQLSpecialColumns.
_UNIQUE, _ALL = 0, 1
_BEST_ROWID, _ROWVER = 1, 2
#: SQLGetTypeInfo: all, varchar, integer, numeric, timestamp, one that does not exist.
_TYPES: Final = (0, 12, 4, 2, 93, -99 & 0xFFFF)
_CALLS: Final[tuple[Call, ...]] = (
    ("Tables", None, "public", "%", None),
    ("Tables", None, "shop", "%", None),
    ("Tables", "sluice", "shop", "%", "TABLE"),
    ("Tables", None, "shop", "%", "'TABLE','VIEW'"),
    ("Tables", None, "shop", "%", "VIEW,MATVIEW"),
    ("Tables", None, "%", "%", "TABLE"),
    ("Tables", None, "%", "c%", "VIEW"),
    ("Tables", None, "pg_catalog", "pg_c%", "SYSTEM TABLE"),
    ("Tables", None, "Odd Names", "under_score", None),
    ("Tables", None, "Odd Names", "under\\_score", None),
    ("Tables", None, "Odd Names", "a.b", None),
    ("Tables", None, "Odd Names", "%", None),
    ("Tables", None, None, "CUSTOMERS", None),
    ("Tables", None, None, "customers", None),
    ("Tables", None, None, "it'ems", None),
    ("Tables", "%", "", "", ""),
    ("Tables", "", "%", "", ""),
    ("Tables", "", "", "", "%"),
    ("Columns", None, "public", "customers", None),
    ("Columns", None, "shop", "%", "%"),
    ("Columns", None, "shop", "items", "p%"),
    ("Columns", None, "Odd Names", "Mixed Case", None),
    ("Columns", None, "Odd Names", "Mixed Case", "under\\_score"),
    ("Columns", None, "Odd Names", "Mixed Case", "quo%"),
    ("Columns", None, None, "cheap", None),
    ("Columns", None, "shop", "kept", None),
    ("Columns", None, "pg_catalog", "pg_class", None),
    ("Columns", None, "information_schema", "tables", None),
    ("Columns", None, None, "nothing", None),
    ("ColumnPrivileges", None, "shop", "items", "%"),
    ("ColumnPrivileges", None, "public", "customers", "name"),
    ("TablePrivileges", None, "public", "%"),
    ("TablePrivileges", None, "shop", "%"),
    ("PrimaryKeys", None, "public", "customers"),
    ("PrimaryKeys", None, "shop", "items"),
    ("PrimaryKeys", None, None, "sales"),
    ("PrimaryKeys", None, "Odd Names", "Mixed Case"),
    ("PrimaryKeys", None, "public", "cheap"),
    ("ForeignKeys", None, None, None, None, "shop", "sales"),
    ("ForeignKeys", None, "public", "customers", None, None, None),
    ("ForeignKeys", None, "shop", "items", None, "shop", "sales"),
    ("ForeignKeys", None, "Odd Names", "Mixed Case", None, None, None),
    ("ForeignKeys", None, None, None, None, "Odd Names", "a.b"),
    ("ForeignKeys", None, None, None, None, "public", "customers"),
    ("Statistics", None, "public", "customers", _UNIQUE, 0),
    ("Statistics", None, "public", "customers", _ALL, 1),
    ("Statistics", None, "shop", "items", _ALL, 0),
    ("Statistics", None, "shop", "items", _UNIQUE, 0),
    ("Statistics", None, "shop", "kept", _ALL, 0),
    ("Statistics", None, "Odd Names", "Mixed Case", _ALL, 0),
    ("SpecialColumns", _BEST_ROWID, None, "public", "customers", 0, 1),
    ("SpecialColumns", _BEST_ROWID, None, "shop", "items", 2, 0),
    ("SpecialColumns", _BEST_ROWID, None, "Odd Names", "a.b", 0, 1),
    ("SpecialColumns", _ROWVER, None, "public", "customers", 0, 1),
    ("Procedures", None, "pg_catalog", "abs"),
    ("Procedures", None, "pg_catalog", "array\\_a%"),
    ("Procedures", None, "shop", "%"),
    ("Procedures", None, None, "now"),
    ("ProcedureColumns", None, "pg_catalog", "abs", None),
    ("ProcedureColumns", None, "pg_catalog", "generate_series", "%"),
    ("ProcedureColumns", None, "pg_catalog", "json_each", None),
    ("ProcedureColumns", None, "shop", "%", "%"),
    *(("GetTypeInfo", number) for number in _TYPES),
)
#: SQLGetInfo's numbers of ODBC 1 to 3, but for those of handles.
_INFO: Final = sorted({*range(180), *range(10_000, 10_025), 20_000} - {3, 4, 5, 76, 135})


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[tuple[Odbc, Odbc]]:
    with (
        browsed(tmp_path_factory.mktemp("odbc"), postgres) as (here, there),
        Odbc(port=here.port, user=here.user, database=here.database) as ours,
        Odbc(port=there.port, user=there.user, database=there.database) as theirs,
    ):
        yield ours, theirs


def _rows(odbc: Odbc, call: Call) -> list[str]:
    function, *arguments = call
    try:
        return odbc.rows(str(function), *arguments)
    except OdbcError as error:
        return [str(error)]


#: Those that psqlODBC asks for in no order.
_BY_CHANCE: Final = ("TablePrivileges", ("Tables", "", "", "", "%"), "Procedures")
#: The first OID that is not PostgreSQL's own.
_FIRST_OID: Final = 16384


def _shown(call: Call, rows: list[str]) -> list[str]:
    """Without what differs on purpose (docs/compatibility.md): the schema of Sluice's own relations is there, defaults of types
    of users are as they were written. Objects of users have other OIDs."""
    head, *rest = (re.sub(r"\b\d{5}\b", lambda found: _without_oid(found[0]), row) for row in rows)
    rest = [re.sub(r"('\w+')::shop\.mood", r"\1", row) for row in rest if " | sluice | " not in row]
    return [head, *(sorted(rest) if call in _BY_CHANCE or call[0] in _BY_CHANCE else rest)]


def _without_oid(number: str) -> str:
    return "OID" if int(number) >= _FIRST_OID else number


@pytest.mark.table
@pytest.mark.parametrize("call", _CALLS, ids=str)
def test_rows(both: tuple[Odbc, Odbc], call: Call) -> None:
    ours, theirs = (_shown(call, _rows(odbc, call)) for odbc in both)
    if call[0] == "Procedures":
        # pg_proc lists what can be called.
        ours, theirs = sorted(set(ours)), sorted(set(theirs) & set(ours))
    assert ours == theirs


def test_info(both: tuple[Odbc, Odbc]) -> None:
    ours, theirs = ({number: odbc.info(number) for number in _INFO} for odbc in both)
    assert ours == theirs

"""Numerics that no engine's decimal type can hold (NaN, infinities, more than 38 digits): they are shown, cast and
compared as in PostgreSQL, in both formats, and operations that an engine would have to compute are refused with an
explicit error.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow
from support.local_member import LocalMember, local_member
from support.postgres_server import Database

pytestmark = pytest.mark.postgres

_STATEMENTS = (Path(__file__).parent / "wide_numerics.sql").read_text()
#: What would have to be computed, stored or put in order.
_REFUSED = (
    "select 'NaN'::numeric + 1",
    "select sum(x) from (values ('nan'::numeric), (1)) v(x)",
    "select x from (values ('nan'::numeric), (1)) v(x) order by x",
    "select x from (values ('nan'::numeric), (1)) v(x) group by x",
    "select distinct x from (values ('nan'::numeric), (1)) v(x)",
    "select count(*) over (partition by x) from (values ('nan'::numeric), (1)) v(x)",
    "select 'nan'::numeric union select 1",
    "select x = 1 from (values ('nan'::numeric), (1)) v(x)",
    "select x in (1, 2) from (values ('nan'::numeric), (1)) v(x)",
    "select greatest('nan'::numeric, 1)",
    "select '[1,nan]'::numrange",
    "create table w as select 'nan'::numeric x",
    "insert into held values ('nan')",
    "insert into held select 'nan'::numeric",
    "update held set x = 'inf'",
)


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def _said(connection: psycopg.Connection[TupleRow], statement: str, given: Any = None, *, binary: bool = False) -> Any:
    """The raw values of a result, its types, or the error's SQLSTATE and message."""
    try:
        cursor = connection.cursor(binary=binary)
        cursor.execute(statement.encode(), given)
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.message_detail
    result = cursor.pgresult
    assert result is not None
    types = [result.ftype(column) for column in range(result.nfields)]
    return types, [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]


def test_shown_cast_and_compared(member: LocalMember, postgres_database: Database) -> None:
    with member.connect() as ours, postgres_database.connect() as theirs:
        for statement in filter(None, map(str.strip, _STATEMENTS.split(";\n"))):
            assert _said(ours, statement) == _said(theirs, statement), statement


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e50", "-12345678901234567890123456789012345678901234.50", "1e-45"]
)
def test_parameters_and_results(member: LocalMember, postgres_database: Database, number: str, binary: bool) -> None:
    placed = "%b" if binary else "%t"
    with member.connect() as ours, postgres_database.connect() as theirs:
        for statement in (
            f"select {placed}::numeric",
            f"select {placed}::numeric::text, array[{placed}::numeric]",
            f"select x::text, x from (values ({placed}::numeric), (1)) v(x)",
        ):
            given = [Decimal(number)] * statement.count(placed)
            said, expected = (_said(to, statement, given, binary=binary) for to in (ours, theirs))
            assert said == expected, statement


@pytest.mark.parametrize("statement", _REFUSED)
def test_refused(member: LocalMember, statement: str) -> None:
    with member.connect() as ours:
        ours.execute("create table held (x numeric)")
        ours.execute("insert into held values (1)")
        found = _said(ours, statement)
        assert found[0] == "0A000", found
        assert ours.execute("select x::text from held").fetchall() == [("1",)]


@pytest.mark.parametrize("number", ["NaN", "-Infinity"])
def test_copy_refuses(member: LocalMember, number: str) -> None:
    def copy_number() -> None:
        with ours.cursor().copy("copy held from stdin") as copy:
            copy.write(f"{number}\n")

    with member.connect() as ours:
        ours.execute("create table held (x numeric)")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            copy_number()


def test_items_of_arrays_are_not_rounded(member: LocalMember) -> None:
    with member.connect() as ours:
        ours.execute("create table listed (x numeric[])")
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            ours.execute("insert into listed values (array[%b])", [Decimal("1e-50")])

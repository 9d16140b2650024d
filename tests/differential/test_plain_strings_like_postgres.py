r"""Strings with backslashes while standard_conforming_strings is off, compared with PostgreSQL 15."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.member_beside_postgres import Connection, member_beside_postgres, rows_or_error
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

_OFF = ("set escape_string_warning = off", "set standard_conforming_strings = off")


@pytest.fixture
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    with member_beside_postgres(tmp_path_factory.mktemp("plain"), postgres, _OFF) as connections:
        yield connections


@pytest.mark.parametrize(
    "statement",
    [
        r"select 'a\'b', 'a\\b', 'a\nb', 'a''b', '\x41\101\u00e9', 'plain'",
        r"select'a\tb'as x, upper('a\'b'), 'a\\' || E'\\' || $$\$$",
        "select 'a\\'\n'b\\\\'",
        r"select 'a\' from t",
        r"select '\ud83d\ude00', 'x\y'",
        r"select '\u12'",
        r"select u&'\0041'",
        r"select u&'A'",
        r"select b'101', x'1f', n'plain', -- '\'' is a comment",
        r"""select 1 as "a\b", '\"' /* '\' */, 'c'""",
        r"select '\\x4142'::bytea, '{\"a\\\\b\"}'::text[]",
        r"select like_escape.s from (values ('100%'), ('100\\%')) like_escape(s) where s like '100\\%' order by 1",
    ],
)
def test_same(both: tuple[Connection, Connection], statement: str) -> None:
    ours, theirs = both
    assert ours.info.parameter_status("standard_conforming_strings") == "off"
    found, expected = (rows_or_error(connection, statement) for connection in (ours, theirs))
    if isinstance(expected, tuple):
        # Positions behind a string that was rewritten are different.
        assert found[:2] == expected[:2]
    else:
        assert found == expected


def test_what_is_stored_means_the_same_afterwards(both: tuple[Connection, Connection]) -> None:
    for connection in both:
        connection.execute(rb"create table t (a text default 'x\'\\y', check (a <> 'no\\'))")
        connection.execute(rb"create view v as select a, 'p\tq' as b from t")
        connection.execute(b"set standard_conforming_strings = on")
        connection.execute(b"insert into t default values")
    ours, theirs = (connection.execute(b"select * from v").fetchall() for connection in both)
    assert ours == theirs == [("x'\\y", "p\tq")]
    failed = [rows_or_error(connection, r"insert into t values ('no\')")[0] for connection in both]
    assert failed == ["23514", "23514"]

"""Statements that PostgreSQL answers and a member refuses explicitly: with 0A000, and neither another answer nor XX000."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from support.local_member import LocalMember, local_member

_REFUSED = (
    ("local", "select power(n, 20) from (values (123456789::numeric)) t(n)", "a numeric with more digits than 38"),
    ("local", "select exp(n) from (values (300::numeric)) t(n)", "a numeric with more digits than 38"),
    ("local", "execute compared((1, 2))", "a parameter of type record"),
    (
        "local",
        "select ntile(n) over (order by n desc) from (values (1), (null), (3)) t(n)",
        "ntile of a column that is null in the first row",
    ),
    # Spark takes the distinct values of one argument where an aggregate of two reads only one.
    ("spark", "select corr(distinct y, x) from (values (1, 2), (1, 3)) t(x, y)", "corr of distinct pairs"),
    ("spark", "select regr_avgx(distinct y, x) from (values (1, 2), (1, 3)) t(x, y)", "regr_avgx of distinct pairs"),
)


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("refused")) as running:
        yield running


@pytest.mark.parametrize(("engine", "statement", "what"), _REFUSED)
def test_refused_by_name(engine: str, statement: str, what: str, member: LocalMember) -> None:
    with member.connect() as connection:
        connection.execute(f"set sluice.engine = {engine}")
        connection.execute("prepare compared as select $1 = (1, 2)")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match=what):
            connection.execute(statement.encode())


def test_a_null_record_is_a_parameter(member: LocalMember) -> None:
    with member.connect() as connection:
        connection.execute("prepare compared as select $1 = (1, 2)")
        assert connection.execute("execute compared(null)").fetchall() == [(None,)]

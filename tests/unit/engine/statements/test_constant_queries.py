"""Constant queries, whose rows are cached: which queries are constant, and that the cached rows equal those of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from support.local_member import LocalMember, local_member

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.planner.codegen.compiled_fragment import CompiledFragment

#: Those that give the same rows under the same settings, whether they are kept or not.
_SAME: Final = (
    "select 1", "select 1 as a, 'x' as b, null as c, array[1, 2], row(1, 'y')", "values (1, 'a'), (2, null)",
    "select repeat('x', 5000)", "select 1 where false", "select 1.50::numeric(6, 3), 0.1::float4, interval '1 day'",
    "select upper('abc') || 'd', 7 / 2, -7 % 3, coalesce(null, 2)", "select now() = now(), current_user",
    "select date '2026-01-02', timestamptz '2026-01-02 03:04+00'",
)  # fmt: skip
#: Those that differ from one run to the next.
_DIFFERENT: Final = (
    "select random()", "select gen_random_uuid()", "select clock_timestamp()", "select now()", "select statement_timestamp()",
    "values (1, random())", "select nextval('numbers')",
)  # fmt: skip


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("constants")) as member:
        with member.connect() as connection:
            connection.execute("create sequence numbers")
        yield member


def _run(connection: psycopg.Connection[Any], statement: str) -> object:
    try:
        cursor = connection.execute(statement, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary
    return cursor.statusmessage, cursor.fetchall()


@pytest.mark.parametrize("statement", _SAME)
def test_a_run_after_the_first_gives_what_the_first_gave(member: LocalMember, statement: str) -> None:
    with member.connect() as connection, member.connect() as other:
        first = _run(connection, statement)
        assert [_run(connection, statement) for _ in range(3)] == [first] * 3
        # As text through the simple protocol, too, and a page at a time.
        assert _run(other, statement) == first
        with other.transaction(), other.cursor("c") as cursor:
            cursor.execute(
                statement.replace("values", "select * from (values") + (") v" if "values" in statement else "")
            )
            assert cursor.fetchall() == first[1]  # type: ignore[index]


@pytest.mark.parametrize(("statement", "runs"), [("select 41", 1), ("values (41), (42)", 1), ("select random()", 3)])
def test_an_engine_is_asked_once_for_a_constant_query(
    member: LocalMember, monkeypatch: pytest.MonkeyPatch, statement: str, runs: int
) -> None:
    asked: list[object] = []
    executor = member.engine.executors.local
    opened = executor.open

    async def count(fragment: CompiledFragment, context: ExecutionContext) -> BatchStream:
        asked.append(fragment)
        return await opened(fragment, context)

    monkeypatch.setattr(executor, "open", count)
    with member.connect() as connection:
        for _ in range(3):
            _run(connection, statement)
    assert len(asked) == runs


@pytest.mark.parametrize("statement", _DIFFERENT)
def test_what_a_volatile_function_gives_is_not_kept(member: LocalMember, statement: str) -> None:
    with member.connect() as connection:
        found = []
        for _ in range(4):
            found.append(str(_run(connection, statement)))
            time.sleep(0.002)
        assert len(set(found)) == 4


def test_rows_are_those_of_the_settings_that_hold_when_they_are_asked_for(member: LocalMember) -> None:
    statement = "select timestamptz '2026-01-02 03:04+00'::text, date '2026-02-03'::text, 1.25::float8::text"
    changes = (
        "set TimeZone to 'Asia/Tokyo'",
        "set TimeZone to 'UTC'",
        "set DateStyle to 'SQL, DMY'",
        "reset DateStyle",
    )
    with member.connect() as warm:
        _run(warm, statement)
        for number, change in enumerate(changes):
            warm.execute(change)
            with member.connect() as cold:
                for before in changes[: number + 1]:
                    cold.execute(before)
                assert _run(warm, statement) == _run(cold, f"{statement} /* {number} */")


def test_an_error_is_told_each_time(member: LocalMember) -> None:
    with member.connect() as connection:
        for _ in range(3):
            with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                connection.execute("select lower('ABC')::int", prepare=True)


def test_a_limit_of_rows_holds_for_rows_that_are_kept(member: LocalMember) -> None:
    with member.connect() as connection:
        for _ in range(2):
            assert connection.execute("values (1), (2), (3)", prepare=True).fetchall() == [(1,), (2,), (3,)]
        connection.execute("set sluice.rows_max to 2")
        with pytest.raises(psycopg.Error, match="more than 2 rows"):
            connection.execute("values (1), (2), (3)", prepare=True)


def test_kept_rows_are_encoded_under_the_current_settings(member: LocalMember) -> None:
    """The encoder of a prepared statement serves its next execution, unless the settings or the formats differ."""
    statement = (
        "select 0.1::float8 / 3, date '2026-02-01', interval '1 day 2 hours', '\\x01ff'::bytea,"
        " timestamptz '2026-01-02 03:04+00'"
    )
    with member.connect() as connection:
        for setting in (
            "extra_float_digits = 0", "datestyle = 'german'", "intervalstyle = 'iso_8601'", "bytea_output = 'escape'",
            "timezone = 'Asia/Tokyo'", "extra_float_digits = 1", "datestyle = 'iso'", "timezone = 'UTC'",
        ):  # fmt: skip
            connection.execute(f"set {setting}".encode())
            for binary in (False, True, True, False):
                cursor = connection.cursor(binary=binary)
                texts = [
                    [None if result is None else result.get_value(0, column) for column in range(5)]
                    for result in (
                        cursor.execute(query, prepare=prepare).pgresult
                        for query, prepare in ((statement, True), (f"{statement} --", False))
                    )
                ]
                assert texts[0] == texts[1], setting

"""Generic plans: they give the same answers as custom plans, are chosen as PostgreSQL chooses them, and are rebuilt
when an object that they depend on changes.

A sample of the functions, operators and casts runs with `make test`; `PLACES=1000 SEED=3 pytest -m "long or not long"
tests/differential/test_generic_plans.py` takes a thousand of each.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.expression_places import prepared_script
from support.expression_subjects import Subject, cast_subjects, function_subjects
from support.local_member import LocalMember, Said, local_member, say
from support.postgres_server import Database

PLACES = int(os.environ.get("PLACES", "6"))
SEED = int(os.environ.get("SEED", "1"))
GENERIC, CUSTOM = "force_generic_plan", "force_custom_plan"
#: SQL, the types of its parameters, and rows of values for them.
Cases = tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
#: A query's conditions, and parameters with values for them, of which the last are null.
CONDITIONS: Cases = (
    ("k = $1", ("int",), (("3",), ("99",), ("null",))),
    ("k = $1", ("bigint",), (("3",), ("5000000000",))),
    ("k = $1", ("numeric",), (("3.0",), ("3.5",), ("'NaN'",))),
    ("s < $1", ("smallint",), (("4",), ("-1",))),
    ("s + $1 > 32767", ("int",), (("32766",), ("0",))),
    ("s + $1 > 7", ("smallint",), (("1",), ("20",))),
    ("k in ($1, $2, 7)", ("int", "int"), (("1", "2"), ("null", "2"))),
    ("k not in ($1, $2)", ("int", "int"), (("1", "2"), ("null", "2"))),
    ("k between $1 and $2", ("int", "int"), (("3", "6"), ("6", "3"))),
    ("t = $1", ("text",), (("'t3'",), ("''",), ("null",))),
    ("t like $1", ("text",), (("'t1%'",), ("'%'",), ("null",))),
    ("t || $1 = $2", ("text", "text"), (("'x'", "'t1x'"), ("e'\\n'", "'t1'"))),
    ("p >= $1", ("numeric(8, 2)",), (("12.5",), ("0.001",), ("null",))),
    ("p * $1 > 20", ("numeric",), (("2",), ("2.000000000001",))),
    ("f > $1", ("float8",), (("1.5",), ("'NaN'",), ("'-Infinity'",))),
    ("f / $1 > 1", ("float8",), (("0.25",), ("0",))),
    ("d > $1", ("date",), (("'2020-01-20'",), ("'infinity'",), ("'4713-01-01 BC'",))),
    ("d + $1 > date '2020-01-22'", ("int",), (("2",), ("null",))),
    ("z >= $1", ("timestamptz",), (("'2020-01-01 05:00+03'",), ("'-infinity'",))),
    ("z > timestamptz '2020-01-02' - $1", ("interval",), (("'1 day'",), ("'1 mon -3 days'",))),
    ("b is not distinct from $1", ("bool",), (("true",), ("null",))),
    ("u = $1", ("uuid",), (("'00000000-0000-0000-0000-000000000004'",), ("null",))),
    ("k = any ($1)", ("int[]",), (("'{1,2}'",), ("null",))),
    ("exists (select from g o where o.s = g.k + $1)", ("int",), (("1",), ("100",))),
    ("$1 = 1 or k / ($1 - 1) = 2", ("int",), (("1",), ("3",))),
    ("case when $1 then k = 1 else t = 't2' end", ("bool",), (("true",), ("false",), ("null",))),
)
#: Where parameters may stand but in conditions.
QUERIES: Cases = (
    ("select k + $1 as x, count(*) from g group by k + $1 order by x limit 3", ("int",), (("1",), ("null",))),
    ("select k from g order by k limit $1 offset $2", ("int", "int"), (("2", "1"), ("null", "23"), ("-1", "0"))),
    ("select $1, $2::text, k from g where k < 3 order by k", ("text", "int"), (("'a'", "1"), ("null", "null"))),
    ("select sum(k) filter (where k > $1), string_agg(t, $2 order by k) from g", ("int", "text"), (("20", "','"),)),
    ("select k, lag(k, $1) over (order by k) from g order by k limit 3", ("int",), (("1",), ("2",), ("null",))),
    ("select a.k from g a join g b on a.k = b.k + $1 order by 1 limit 4", ("int",), (("1",), ("50",))),
    ("select k, $1 from g where k < 4 union select k, $1 from g where k > 23 order by 1", ("int",), (("1",),)),
    ("with recursive r(n) as (select $1 union all select n + 1 from r where n < $2) table r", ("int", "int"), (("1", "4"),)),
    ("select to_char(d, $1), substring(t from $2), round(p, $3) from g where k = 5", ("text", "int", "int"),
     (("'YYYY'", "2", "1"), ("'MM/DD'", "1", "0"))),
    ("select distinct on (k % $1) k % $1, k from g order by 1, 2", ("int",), (("3",), ("0",))),
    ("select percentile_disc($1) within group (order by k) from g", ("float8",), (("0.5",), ("2",))),
    ("select * from generate_series($1, $2) x order by 1", ("int", "int"), (("1", "3"), ("3", "1"))),
)  # fmt: skip
_TABLE = (
    "create table g (k int, s smallint, t text, p numeric(8, 2), f float8, d date, z timestamptz, b bool, u uuid)",
    "insert into g select i, i, 't' || i, i * 1.25, i / 3.0, date '2020-01-01' + i, "
    "timestamptz '2020-01-01 00:00+00' + i * interval '1 hour', case i % 3 when 0 then true when 1 then false end, "
    "('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid from generate_series(1, 25) i",
    "insert into g values (null, null, null, null, null, null, null, null, null)",
)
Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("generic")) as running:
        yield running


@pytest.fixture(scope="module")
def filled(member: LocalMember) -> LocalMember:
    with member.connect() as connection:
        for statement in _TABLE:
            connection.execute(statement)
    return member


def _connect(member: LocalMember, mode: str) -> Connection:
    connection = member.connect()
    connection.prepare_threshold = None
    connection.execute(f"set plan_cache_mode = {mode}")
    return connection


def _prepared(query: str, types: Sequence[str], values: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "deallocate all"
    yield f"prepare p({', '.join(types)}) as {query}"
    for row in values:
        yield f"execute p({', '.join(row)})"


def _scripts() -> Iterator[tuple[str, ...]]:
    for condition, types, values in CONDITIONS:
        yield tuple(_prepared(f"select k, t from g where {condition} order by k", types, values))
    for query, types, values in QUERIES:
        yield tuple(_prepared(query, types, values))


def _said(connection: Connection, statement: str) -> tuple[object, ...]:
    said: Said = say(connection, statement)
    return said.tag, said.rows, said.error


@pytest.mark.postgres
def test_both_plans_have_the_answers_of_postgresql(filled: LocalMember, postgres_database: Database) -> None:
    with (
        postgres_database.connect() as theirs,
        _connect(filled, GENERIC) as generic,
        _connect(filled, CUSTOM) as custom,
    ):
        theirs.prepare_threshold = None
        for statement in _TABLE:
            theirs.execute(statement)
        wrong = []
        for statement in (statement for script in _scripts() for statement in script):
            expected = _said(theirs, statement)
            for mode, connection in ((GENERIC, generic), (CUSTOM, custom)):
                told = _said(connection, statement)
                refused = told[2] is not None and told[2][0] == "0A000"  # type: ignore[index]
                if told != expected and not refused:
                    wrong.append(f"{mode}: {statement}\n    {told}\n    {expected}")
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("family", [function_subjects, cast_subjects])
def test_functions_have_the_same_answers_in_both_plans(
    family: Callable[[], Sequence[Subject]], member: LocalMember
) -> None:
    subjects = [subject for subject in family() if subject.kind == "scalar"]
    random.Random(SEED).shuffle(subjects)
    with _connect(member, GENERIC) as generic, _connect(member, CUSTOM) as custom:
        wrong = [
            f"{statement}\n    {told}\n    {expected}"
            for subject in subjects[:PLACES]
            for statement in prepared_script(subject)
            if (told := _said(generic, statement)) != (expected := _said(custom, statement))
        ]
    assert not wrong, "\n".join(wrong)


def _explained(connection: Connection, statement: str) -> str:
    return "\n".join(line for (line,) in connection.execute(statement).fetchall())


def _has_parameter(connection: Connection, mode: str) -> Iterator[bool]:
    """Whether EXPLAIN EXECUTE shows `$1`, after each of several executions; EXPLAIN is one itself."""
    connection.execute("deallocate all")
    connection.execute(f"set plan_cache_mode = {mode}")
    connection.execute("prepare p(int) as select t from g where k = $1")
    for value in range(4):
        connection.execute(f"execute p({value})")
        yield "$1" in _explained(connection, f"explain execute p({value})")


@pytest.mark.postgres
@pytest.mark.parametrize("mode", ["auto", GENERIC, CUSTOM])
def test_the_plan_is_chosen_as_postgresql_chooses(mode: str, tmp_path: Path, postgres_database: Database) -> None:
    with local_member(tmp_path) as member, member.connect() as ours, postgres_database.connect() as theirs:
        for connection in (ours, theirs):
            connection.prepare_threshold = None
            for statement in _TABLE:
                connection.execute(statement)
        assert list(_has_parameter(ours, mode)) == list(_has_parameter(theirs, mode))


def test_a_custom_plan_shows_the_value(filled: LocalMember) -> None:
    with _connect(filled, CUSTOM) as connection:
        connection.execute("prepare p(int) as select t from g where k = $1")
        assert "(k = 7)" in _explained(connection, "explain execute p(7)")


def test_files_that_only_a_value_excludes_keep_plans_custom(member: LocalMember, tmp_path: Path) -> None:
    for number in range(40):
        pq.write_table(pa.table({"k": pa.array([number], pa.int32())}), tmp_path / f"{number}.parquet")
    with _connect(member, "auto") as connection:
        connection.execute(f"create foreign table parts options (path '{tmp_path}', format 'parquet')")
        connection.execute("prepare p(int) as select count(*) from parts where k = $1")
        for value in range(8):
            assert connection.execute(f"execute p({value})").fetchall() == [(1,)]
        assert "1 of 40 files" in _explained(connection, "explain execute p(8)").replace(
            "Files: 1 of 40", "1 of 40 files"
        )
        connection.execute(f"set plan_cache_mode = {GENERIC}")
        assert "$1" in _explained(connection, "explain execute p(8)")
        assert connection.execute("execute p(8)").fetchall() == [(1,)]


#: What happens between executions, by somebody else or by the session itself, and the statement that is executed.
CHANGES: dict[str, tuple[str, ...]] = {
    "rows": ("insert into w values (3, 'new', 5)", "delete from w where k = 3 and v = 'new'"),
    "a column": ("alter table w add column more int default 4", "alter table w drop column more"),
    "statistics": ("analyze w",),
    "another table of that name": ("alter table w rename to old_w", "create table w as select k, v || '!' as v, n from old_w"),
    "a setting": ("set timezone = 'Asia/Tokyo'", "set sluice.local_limit = '1MB'", "set datestyle = 'german'"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_generic_plan_follows_what_it_depends_on(change: str, tmp_path: Path) -> None:
    """Beside a twin that plans for each value, and a new session that has no plan of the statement yet."""
    with local_member(tmp_path) as member, _connect(member, GENERIC) as generic, _connect(member, CUSTOM) as custom:
        generic.execute("create table w (k int, v text, n int)")
        generic.execute("insert into w select i, 'v' || i, i from generate_series(1, 9) i")
        for connection in (generic, custom):
            connection.execute("prepare p(int, timestamptz) as select v, n, $2::text from w where k = $1 order by n")
        for statement in ("select 1", *CHANGES[change]):
            generic.execute(statement)
            if statement.startswith("set "):
                custom.execute(statement)
            for value in (3, 4):
                asked = f"execute p({value}, '2020-02-01 12:00+00')"
                assert _said(generic, asked) == _said(custom, asked), statement


def test_a_generic_plan_is_refused_to_who_may_not_read(member: LocalMember) -> None:
    with _connect(member, GENERIC) as connection:
        for statement in ("create table own (k int)", "insert into own values (1)", "create role nobody_special"):
            connection.execute(statement)
        connection.execute("prepare p(int) as select count(*) from own where k = $1")
        assert connection.execute("execute p(1)").fetchall() == [(1,)]
        connection.execute("set role nobody_special")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("execute p(1)")


def test_a_generic_plan_sees_files_that_have_changed(member: LocalMember, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"k": [1, 2], "v": ["a", "b"]}), path)
    with _connect(member, GENERIC) as connection:
        connection.execute(f"create foreign table changing options (path '{path}', format 'parquet')")
        connection.execute("prepare p(bigint) as select v from changing where k = $1")
        assert connection.execute("execute p(2)").fetchall() == [("b",)]
        pq.write_table(pa.table({"k": [2, 3, 2], "v": ["x", "y", "z"]}), path)
        assert sorted(connection.execute("execute p(2)").fetchall()) == [("x",), ("z",)]

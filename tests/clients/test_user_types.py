"""User-defined types as drivers read and write them: in text and binary, as parameters, in COPY, in arrays."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg.types.enum import EnumInfo, register_enum
from support.local_member import LocalMember, local_member


class Mood(enum.Enum):
    sad = 1
    ok = 2
    happy = 3


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


@pytest.fixture
def moods(ground: LocalMember) -> Iterator[psycopg.Connection[Any]]:
    with ground.connect() as connection:
        connection.execute("create type mood as enum ('sad', 'ok', 'happy')")
        connection.execute("create table people (id int, m mood, ms mood[])")
        info = EnumInfo.fetch(connection, "mood")
        assert info is not None
        register_enum(info, connection, Mood)
        yield connection


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_enums(moods: psycopg.Connection[Any], binary: bool) -> None:
    moods.execute("insert into people values (1, %s, %s)", (Mood.ok, [Mood.sad, Mood.happy]))
    cursor = moods.cursor(binary=binary)
    for placeholder in ("%s", "%b", "%t"):
        found = cursor.execute(f"select m, ms from people where m <= {placeholder}", (Mood.ok,)).fetchall()
        assert found == [(Mood.ok, [Mood.sad, Mood.happy])]


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_of_enums(moods: psycopg.Connection[Any], form: str) -> None:
    moods.execute("insert into people values (1, 'ok', '{sad,NULL}'), (2, null, null)")
    with moods.cursor().copy(f"copy people to stdout (format {form})") as copy:
        data = b"".join(bytes(part) for part in copy)
    with moods.cursor().copy(f"copy people from stdin (format {form})") as copy:
        copy.write(data)
    twice = moods.execute("select id, m::text, ms::text, count(*) from people group by 1, 2, 3 order by 1").fetchall()
    assert twice == [(1, "ok", "{sad,NULL}", 2), (2, None, None, 2)]


def test_copy_refuses_a_label_that_is_none(moods: psycopg.Connection[Any]) -> None:
    wrong = pytest.raises(psycopg.errors.InvalidTextRepresentation, match='enum mood: "glad"')
    with wrong, moods.cursor().copy("copy people from stdin") as copy:
        copy.write(b"1\tglad\t\\N\n")


def test_a_rollback_takes_types_back(moods: psycopg.Connection[Any]) -> None:
    moods.execute("begin")
    moods.execute("create type other as enum ('a')")
    moods.execute("alter type mood add value 'glad'")
    moods.execute("create table pairs (a other, b mood)")
    moods.execute("insert into pairs values ('a', 'glad')")
    assert moods.execute("select a::text, b::text from pairs").fetchall() == [("a", "glad")]
    moods.execute("rollback")
    assert moods.execute("select enum_range(null::mood)::text").fetchone() == ("{sad,ok,happy}",)
    assert moods.execute("select to_regtype('other')").fetchone() == (None,)


def test_temporary_tables_follow_a_renamed_label(moods: psycopg.Connection[Any]) -> None:
    moods.execute("create temp table mine (m mood)")
    moods.execute("insert into mine values ('ok')")
    moods.execute("alter type mood rename value 'ok' to 'fine'")
    assert moods.execute("select m::text from mine").fetchone() == ("fine",)


def test_types_outlive_the_member(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("create type mood as enum ('sad', 'happy')")
        connection.execute("create table people (m mood)")
        connection.execute("insert into people values ('happy'), ('sad')")
        oid = connection.execute("select 'mood'::regtype::oid").fetchone()
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("alter type mood add value 'ok' after 'sad'")
        connection.execute("insert into people values ('ok')")
        assert connection.execute("select m from people order by m").fetchall() == [("sad",), ("ok",), ("happy",)]
        assert connection.execute("select 'mood'::regtype::oid").fetchone() == oid


def test_asyncpg_enums(ground: LocalMember, moods: psycopg.Connection[Any]) -> None:
    """asyncpg asks the catalog for each type that it does not know, and speaks binary only."""

    async def session() -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=ground.port, user="tester", database="sluice", ssl=False
        )
        try:
            await connection.execute("insert into people values ($1, $2, $3)", 1, "ok", ["sad", None])
            await connection.copy_records_to_table("people", records=[(2, "happy", []), (3, None, None)])
            with pytest.raises(asyncpg.InvalidTextRepresentationError):
                await connection.fetch("select $1::mood", "glad")
            rows = await connection.fetch("select m, ms from people where m >= $1 or m is null order by id", "ok")
            return [tuple(row) for row in rows]
        finally:
            await connection.close()

    assert asyncio.run(session()) == [("ok", ["sad", None]), ("happy", []), (None, None)]


# -- domains ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def scores(ground: LocalMember) -> Iterator[psycopg.Connection[Any]]:
    with ground.connect() as connection:
        connection.execute("create domain score as numeric(5,2) check (value between 0 and 100)")
        connection.execute("create domain grade as score not null")
        connection.execute("create table marks (id int, s score, g grade default 1)")
        yield connection


def test_what_breaks_a_domain_names_it(scores: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as broken:
        scores.execute("insert into marks values (1, 100.01)")
    said = broken.value.diag
    assert (said.schema_name, said.table_name, said.datatype_name) == ("public", None, "score")
    assert said.constraint_name == "score_check"
    with pytest.raises(psycopg.errors.NotNullViolation) as missing:
        scores.execute("select x::grade from (values (1), (null)) v(x)")
    assert missing.value.diag.datatype_name == "grade"


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_domains(scores: psycopg.Connection[Any], binary: bool) -> None:
    cursor = scores.cursor(binary=binary)
    for placeholder in ("%s", "%b", "%t"):
        found = cursor.execute(f"select {placeholder}::score", (Decimal("1.234"),))
        assert found.description is not None
        assert (found.description[0].type_code, found.fetchone()) == (1700, (Decimal("1.23"),))
        with pytest.raises(psycopg.errors.CheckViolation):
            cursor.execute(f"insert into marks values (1, {placeholder})", (Decimal(101),))


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_of_domains(scores: psycopg.Connection[Any], form: str) -> None:
    scores.execute("insert into marks values (1, 99.5, 2), (2, null, 3)")
    with scores.cursor().copy(f"copy marks to stdout (format {form})") as copy:
        data = b"".join(bytes(part) for part in copy)
    with scores.cursor().copy(f"copy marks from stdin (format {form})") as copy:
        copy.write(data)
    assert scores.execute("select count(*), sum(s), sum(g) from marks").fetchone() == (4, 199, 10)
    scores.execute("create table plain as select id, s + 1 as s, g from marks")
    with scores.cursor().copy(f"copy plain to stdout (format {form})") as copy:
        data = b"".join(bytes(part) for part in copy)
    with (
        pytest.raises(psycopg.errors.CheckViolation),
        scores.cursor().copy(f"copy marks from stdin (format {form})") as copy,
    ):
        copy.write(data)


def test_domains_outlive_the_member(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("create domain score as int check (value > 0)")
        connection.execute("create domain grade as score check (value < 10)")
        connection.execute("create table marks (g grade)")
    with local_member(tmp_path) as member, member.connect() as connection:
        with pytest.raises(psycopg.errors.CheckViolation, match="score_check"):
            connection.execute("insert into marks values (0)")
        connection.execute("alter domain score drop constraint score_check")
        connection.execute("insert into marks values (0)")
        with pytest.raises(psycopg.errors.CheckViolation, match="grade_check"):
            connection.execute("update marks set g = 10")


def test_parameters_are_told_as_domains_and_columns_as_what_is_below(scores: psycopg.Connection[Any]) -> None:
    scores.execute("prepare adding as insert into marks (s, g) values ($1, $2)")
    oids = scores.execute("select array['score'::regtype::oid, 'grade'::regtype::oid]").fetchone()
    assert scores.execute("select parameter_types::oid[] from pg_prepared_statements").fetchone() == oids
    shown = scores.execute("select s, g from marks").description
    assert shown is not None
    assert [column.type_code for column in shown] == [1700, 1700]


def test_asyncpg_domains(ground: LocalMember, scores: psycopg.Connection[Any]) -> None:

    async def session() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=ground.port, user="tester", database="sluice", ssl=False
        )
        try:
            statement = await connection.prepare("select $1::grade as g")
            assert [shown.type.name for shown in statement.get_attributes()] == ["numeric"]
            assert await statement.fetchval(Decimal(7)) == 7
            with pytest.raises(asyncpg.CheckViolationError):
                await statement.fetchval(Decimal(-7))
            await connection.execute("insert into marks values ($1, $2, $3)", 1, Decimal(5), Decimal(6))
            with pytest.raises(asyncpg.NotNullViolationError):
                await connection.execute("insert into marks values ($1, $2, $3)", 1, Decimal(5), None)
            await connection.copy_records_to_table("marks", records=[(2, Decimal(8), Decimal(9))])
            assert await connection.fetchval("select sum(s) from marks where g >= $1", Decimal(6)) == 13
        finally:
            await connection.close()

    asyncio.run(session())

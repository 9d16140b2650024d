"""Joins of a few rows that are found in columns in memory: a member that holds columns answers as its twin that holds none."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.aged_files import write_aged
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.executors.local import point_reads
from engine.executors.local.point_reads import PointReads

Client = psycopg.Connection[tuple[Any, ...]]
PEOPLE, ORDERS = 60, 400


def tables(seed: int) -> dict[str, pa.Table]:
    """Orders of people of lands; some keys are null, some are nobody's, and a person has several orders or none."""
    draw = random.Random(seed)
    people = [draw.choice([None, *range(PEOPLE + 5)]) for _ in range(ORDERS)]
    return {
        "orders": pa.table(
            {
                "id": pa.array(range(ORDERS), pa.int64()),
                "person": pa.array(people, pa.int32()),
                "total": pa.array([draw.randrange(10**6) for _ in range(ORDERS)], pa.int64()),
                "day": pa.array([draw.choice([None, 0, 19_000]) for _ in range(ORDERS)], pa.date32()),
            }
        ),
        "people": pa.table(
            {
                "id": pa.array(range(PEOPLE), pa.int64()),
                "name": pa.array([f"p{draw.randrange(20)}" for _ in range(PEOPLE)]),
                "land": pa.array([draw.choice([None, "de", "fr", "é'"]) for _ in range(PEOPLE)]),
            }
        ),
        "lands": pa.table({"code": pa.array(["de", "fr", "é'", "de"]), "name": pa.array(["D", "F", "E", "D2"])}),
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    for name, rows in tables(7).items():
        write_aged(folder / f"{name}.parquet", rows, row_group_size=100)
    return folder


class _NoPointReads(PointReads):
    """Leaves all reads to DuckDB."""

    def find(self, *_: object) -> None:
        return None

    def find_joined(self, *_: object) -> None:
        return None


def _declare(member: LocalMember, lake: Path) -> None:
    with member.connect() as client:
        for name in tables(7):
            client.execute(
                f"create foreign table {name} options (path '{lake / f'{name}.parquet'}', format 'parquet')".encode()
            )


@pytest.fixture(scope="module")
def member(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as member:
        _declare(member, lake)
        yield member


@pytest.fixture(scope="module")
def twin(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("twin")) as twin:
        executor = twin.engine.executors.local
        executor._points = _NoPointReads(executor.post)
        _declare(twin, lake)
        yield twin


def _connect(member: LocalMember, mode: str = "force_generic_plan") -> Client:
    return member.connect(options=f"-c sluice.engine=local -c sluice.result_cache=off -c plan_cache_mode={mode}")


def _say(client: Client, query: str, *arguments: Any) -> tuple[Any, ...]:
    try:
        cursor = client.execute(query.encode(), arguments or None, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary
    return cursor.statusmessage, cursor.fetchall() if "order by" in query else sorted(cursor.fetchall(), key=repr)


def _joins(member: LocalMember) -> int:
    return int(member.engine.executors.local.statistics()["point_reads"])


FROM: Final = "from orders o join people p on p.id = o.person"
#: Queries with a key, which are answered from columns.
JOINED: Final = (
    f"select o.id, o.total, p.name, o.day {FROM} where o.id = %s", f"select count(*), sum(total), max(name) {FROM} where o.id = %s",
    f"select o.total, p.name, l.name {FROM} join lands l on l.code = p.land where o.id = %s",
    f"select p.name, l.name, o.day {FROM}, lands l where l.code = p.land and o.id = %s and total > 1000",
    "select o.id, p.name from people p join orders o on o.person = p.id where p.id = %s order by o.id",
    "select a.id, b.id from orders a join orders b on a.person = b.person where a.id = %s and b.id <> a.id order by 1, 2",
    f"select p.name || '!', o.total / 7 {FROM} where o.id = %s and (p.land = 'de' or p.land is null)",
    f"select p.land, count(*) {FROM} where o.person = %s group by 1", f"select * {FROM} where o.id = %s and p.id = 3",
    f"select * {FROM} where o.id = %s and o.id = 5", f"select o.id {FROM} where o.id = %s limit 1",
    f"with x as (select o.id, p.land {FROM} where o.id = %s) select * from x a, x b",
    f"select 100 / (o.total - o.total) {FROM} where o.id = %s", f"select o.id {FROM} where o.id = %s and random() < 2",
)  # fmt: skip
#: Queries with a key that are answered in another way.
OTHERS: Final = (
    "select o.id, p.name from orders o left join people p on p.id = o.person where o.id = %s",
    "select o.id, p.name from orders o join people p on p.id > o.person where o.id = %s order by 1, 2",
    f"select o.id {FROM} where o.id > %s", "select o.id from orders o where o.id = %s and o.person in (select id from people)",
    f"select o.id {FROM} where o.id = %s union all select id from people where id = 4",
    "select o.id, p.name from orders o join people p on p.id = o.person + 1 where o.id = %s",
    "select o.id, p.name from orders o, people p where o.id = %s order by 1, 2",
)  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize("query", JOINED)
@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_joins_by_key_are_answered_from_columns(member: LocalMember, twin: LocalMember, query: str, mode: str) -> None:
    with _connect(member, mode) as held, _connect(twin, mode) as other:

        def is_answered() -> bool:
            before = _joins(member)
            for key in range(0, PEOPLE, 7):
                _say(held, query, key)
            return _joins(member) > before

        wait_until(is_answered)
        for key in (*range(0, ORDERS, 23), -1, 10**6, None):
            told = _say(held, query, key)
            assert told == _say(other, query, key), key


@pytest.mark.parametrize("query", OTHERS)
def test_other_joins_are_answered_by_duckdb(member: LocalMember, twin: LocalMember, query: str) -> None:
    with _connect(member) as held, _connect(twin) as other:
        for key in (*range(0, ORDERS, 57), None):
            for _ in range(3):
                assert _say(held, query, key) == _say(other, query, key)


def test_a_join_of_many_keys_is_duckdbs(
    member: LocalMember, twin: LocalMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "select a.id, p.name from people b join orders a on a.person = b.id join people p on p.id = a.total where b.id = %s"
    monkeypatch.setattr(point_reads, "_KEYS_MOST", 1)
    with _connect(member) as held, _connect(twin) as other:
        for key in range(PEOPLE):
            assert _say(held, query, key) == _say(other, query, key)


KEYS: Final = {"orders": ("id", "person", "total"), "people": ("id", "name", "land"), "lands": ("code", "name")}
TEXTS: Final = {("people", "name"), ("people", "land"), ("lands", "code"), ("lands", "name")}


def _column(draw: random.Random, relation: tuple[str, str], *, text: bool) -> str | None:
    """Return a column of a relation that is a text, or a number; None if it has none."""
    name, alias = relation
    able = [key for key in KEYS[name] if ((name, key) in TEXTS) == text]
    return f"{alias}.{draw.choice(able)}" if able else None


def _random_query(draw: random.Random) -> str:
    relations = [(name, f"t{at}") for at, name in enumerate(draw.choices(list(KEYS), k=3))]
    conditions = []
    for first, second in ((0, 1), (1, 2), (0, 2)):
        text = draw.random() < 0.5
        one, other = (_column(draw, relations[at], text=text) for at in (first, second))
        if one is not None and other is not None:
            conditions.append(f"{one} = {other}")
    text = draw.random() < 0.3
    if (keyed := _column(draw, draw.choice(relations), text=text)) is not None:
        conditions.append(
            f"{keyed} = " + (draw.choice(["'de'", "'p3'", "'D'"]) if text else str(draw.randrange(PEOPLE)))
        )
    froms = ", ".join(f"{name} {alias}" for name, alias in relations)
    what = "*" if len(conditions) > 2 else "count(*)"
    return f"select {what} from {froms}" + (f" where {' and '.join(conditions)}" if conditions else "")


@pytest.mark.parametrize("seed", range(4))
def test_random_joins_give_the_same_rows(member: LocalMember, twin: LocalMember, seed: int) -> None:
    draw = random.Random(seed)
    with _connect(member) as held, _connect(twin) as other:
        for _ in range(25):
            query = _random_query(draw)
            for _ in range(3):
                assert _say(held, query) == _say(other, query), query


def test_changes_are_seen(tmp_path: Path) -> None:
    """Commits, the transaction's own rows, and files that are replaced."""
    write_aged(tmp_path / "lands.parquet", pa.table({"code": ["a", "b"], "name": ["A", "B"]}))
    with local_member(tmp_path / "m") as member, _connect(member) as held, _connect(member) as other:
        held.execute(
            f"create foreign table lands options (path '{tmp_path / 'lands.parquet'}', format 'parquet')".encode()
        )
        held.execute("create table people (id int primary key, land text)")
        held.execute(
            "insert into people select i, case when i % 2 = 0 then 'a' else 'b' end from generate_series(1, 50) i"
        )
        query = "select p.id, l.name from people p join lands l on l.code = p.land where p.id = %s"

        def is_answered() -> bool:
            before = _joins(member)
            assert _say(held, query, 4) == ("SELECT 1", [(4, "A")])
            return _joins(member) > before

        wait_until(is_answered)
        other.execute("update people set land = 'b' where id = 4")
        assert _say(held, query, 4) == ("SELECT 1", [(4, "B")])
        held.execute("begin")
        held.execute("delete from people where id = 4")
        assert _say(held, query, 4) == ("SELECT 0", [])
        held.execute("rollback")
        assert _say(held, query, 4) == ("SELECT 1", [(4, "B")])
        before = (tmp_path / "lands.parquet").stat()
        pq.write_table(pa.table({"code": ["a", "b"], "name": ["X", "Y"]}), tmp_path / "new")
        os.utime(tmp_path / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
        (tmp_path / "new").replace(tmp_path / "lands.parquet")
        assert _say(held, query, 4) == ("SELECT 1", [(4, "Y")])

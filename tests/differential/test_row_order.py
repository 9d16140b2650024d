"""The same queries over the same rows in another order, divided differently into files, batches and pages: the answers
must be the same, as multisets, and row by row where a total order is requested. They run on one member, on three, and
on Spark.

A seed decides everything: the queries (`random_queries`), the order of the rows, how many are in a file, how many are
in a batch (`shaped_members`), how large an edge's batches and a portal's pages are (`cursor_buffer_size`), how many a
FETCH requests.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

import psycopg
import pytest
from support.answers import Answer, Connection, answered, ask, differences
from support.campaigns import long_seeds
from support.query_oracles import BROKEN, HONEST
from support.random_queries import TABLES, Queries
from support.shaped_members import Shaped, shaped_batches, shaped_members

_QUERIES = 20
_NAMES = ("r", "q", "e")
_ZONE = "America/New_York"
#: So many times each row is there: what is equal has to be told apart by nobody.
_COPIES = 2
#: Rows that go into a file together, as `shaped_members` has it for batches.
_FILES = (1, 2, 5, 100)
_INTERVAL, _JSON = 1186, 114
_UNIT_DAYS = {"year": 360, "mon": 30, "day": 1}


@pytest.fixture(scope="module", params=[1, 3], ids=["one member", "three members"])
def members(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shaped]:
    with shaped_members(tmp_path_factory.mktemp("shaped"), request.param) as members:
        with closing(members.connect(0, {"sluice.engine": "local", "TimeZone": _ZONE})) as connection:
            make_rows(connection)
        yield members


def make_rows(connection: Connection) -> None:
    """The tables as `random_queries` has them, in schema public; and with each row's place in `placed`."""
    for statement in TABLES:
        connection.execute(statement.encode())
    connection.execute("create schema placed")
    for name in _NAMES:
        copies = " union all ".join([f"select * from {name}"] * (_COPIES - 1))
        connection.execute(f"insert into {name} {copies}".encode())
        connection.execute(
            f"create table placed.{name} as select row_number() over () as place, {name}.* from {name}".encode()
        )


def arrange(connection: Connection, schema: str, chance: random.Random) -> None:
    """The same tables in another schema: their rows in any order, in files of any number of rows."""
    connection.execute(f"create schema {schema}".encode())
    for name in _NAMES:
        connection.execute(f"create table {schema}.{name} (like public.{name})".encode())
        columns = ", ".join(_columns(connection, name))
        places = [place for (place,) in connection.execute(f"select place from placed.{name}".encode())]
        chance.shuffle(places)
        most = chance.choice(_FILES)
        while places:
            count = chance.randint(1, most)
            part, places = places[:count], places[count:]
            connection.execute(
                f"insert into {schema}.{name} select {columns} from placed.{name} where place = any(%s)"
                " order by array_position(%s, place)".encode(),
                (part, part),
            )


def _columns(connection: Connection, name: str) -> list[str]:
    found = connection.execute(f"select * from {name} limit 0".encode()).description
    assert found is not None
    return [column.name for column in found]


@pytest.mark.parametrize("seed", [1, *long_seeds(range(2, 20))])
def test_same_rows(seed: int, members: Shaped) -> None:
    """Also exactly, where all columns are sorted by, and whether they come at once or by pages."""
    chance = random.Random(seed)
    settings = {"sluice.engine": "local", "TimeZone": _ZONE, "statement_timeout": "60s"}
    with closing(members.connect(0, settings)) as plain:
        arrange(plain, f"seed{seed}", chance)
        shaped = {
            **settings,
            "search_path": f"seed{seed}",
            "sluice.distribution": "always",
            "cursor_buffer_size": chance.choice((1 << 10, 1 << 12, 1 << 20)),
        }
        number = chance.randrange(members.count)
        with shaped_batches(seed), closing(members.connect(number, shaped)) as connection:
            compare(Queries(seed, depth=2, exact=True), plain, connection, chance)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_in_spark(members: Shaped) -> None:
    """Spark with the rows in another order against one local engine."""
    settings = {"TimeZone": _ZONE, "statement_timeout": "300s"}
    chance = random.Random(f"spark {members.count}")
    with closing(members.connect(0, settings | {"sluice.engine": "local"})) as plain:
        arrange(plain, "spark", chance)
        shaped = {**settings, "sluice.engine": "spark", "search_path": "spark", "cursor_buffer_size": 1 << 10}
        with closing(members.connect(0, shaped)) as connection:
            compare(Queries(300, depth=2, exact=True), plain, connection, chance, HONEST)


def compare(
    queries: Queries, plain: Connection, shaped: Connection, chance: random.Random, refused: Collection[str] = ()
) -> None:
    """refused: SQLSTATEs with which the other engine may refuse what the plain one answers."""
    compared = 0
    for _ in range(_QUERIES):
        query = queries.query()
        want, got = ask(plain, query), ask(shaped, query)
        if got.sqlstate in refused:
            continue
        compared += 1
        wrong = _judged(want, got, ordered=False)
        assert wrong is None, f"{query}\n{wrong}"
        if want.sqlstate is None and got.sqlstate is None and (ordered := sorted_by_all(query, want)):
            text = f"{ordered}{chance.choice(('', f' limit {chance.randint(0, 9)} offset {chance.randint(0, 4)}'))}"
            want = ask(plain, text)
            for way, got in (("at once", ask(shaped, text)), ("by pages", by_pages(shaped, text, chance))):
                wrong = None if got.sqlstate in refused else _judged(want, got, ordered=True)
                assert wrong is None, f"{way}: {text}\n{wrong}"
    assert compared >= _QUERIES // 3


def _judged(want: Answer, got: Answer, *, ordered: bool) -> str | None:
    """What is wrong. Whether a row with an error in it is met at all may depend on which comes first."""
    for answer in (want, got):
        if answer.sqlstate is not None and answer.sqlstate.startswith(BROKEN):
            return f"SQLSTATE {answer.sqlstate}"
    if want.sqlstate != got.sqlstate and all((a.sqlstate or "22").startswith("22") for a in (want, got)):
        return None
    different = differences(_alike(want), _alike(got), ordered, trailing_zeros=False)
    return None if different is None else different.replace("PostgreSQL", "the plain one")


def _alike(answer: Answer) -> Answer:
    """Intervals as their length: of several that are equal, as a day and 24 hours are, DISTINCT may keep any."""
    places = {place for place, (_, oid) in enumerate(answer.columns) if oid == _INTERVAL}
    rows = (
        tuple(_length(v) if place in places and v is not None else v for place, v in enumerate(row))
        for row in answer.rows
    )
    return replace(answer, rows=tuple(rows)) if places else answer


def _length(interval: str) -> str:
    """Seconds, where a month has 30 days."""
    days = sum(int(count) * _UNIT_DAYS[unit] for count, unit in re.findall(r"(-?\d+) (year|mon|day)", interval))
    seconds = Decimal(0)
    if (clock := re.search(r"([+-]?)(\d+):(\d+):([\d.]+)", interval)) is not None:
        seconds = 3600 * int(clock[2]) + 60 * int(clock[3]) + Decimal(clock[4])
    return str(86_400 * days + (-seconds if clock is not None and clock[1] == "-" else seconds))


def sorted_by_all(query: str, answer: Answer) -> str | None:
    """The query sorted by all its columns, so that only rows that are alike change places; None where one has no order."""
    if any(oid == _JSON for _, oid in answer.columns):
        return None
    keys = ", ".join(str(n) for n in range(1, len(answer.columns) + 1))
    return f"select * from ({query}) as sorted order by {keys}"


def by_pages(connection: Connection, query: str, chance: random.Random) -> Answer:
    """The answer of a cursor, fetched a few rows at a time."""
    pages: list[Answer] = []
    try:
        with connection.transaction():
            connection.execute(f"declare pages no scroll cursor for {query}".encode())
            while not pages or pages[-1].rows:
                pages.append(answered(connection, f"fetch {chance.randint(1, 5)} from pages"))
    except psycopg.Error as error:
        return Answer(sqlstate=error.sqlstate or type(error).__name__)
    return replace(pages[0], rows=_joined(pages))


def _joined(pages: Sequence[Answer]) -> tuple[tuple[str | None, ...], ...]:
    return tuple(row for page in pages for row in page.rows)

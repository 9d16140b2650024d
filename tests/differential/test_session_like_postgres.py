"""Sessions against PostgreSQL, message for message: the same bytes go to both servers, and the answers are compared.

The statements are such that the small test engine computes the same rows. The comparison covers the session's own work:
order of messages, tags, transaction status, errors, warnings, and a cursor's position after any movement.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable

import pytest
from support.postgres_server import PostgresServer
from support.session_server import RawClient, Server, raw, raw_to, serve

pytestmark = pytest.mark.postgres

TEN = "select * from generate_series(1, 10)"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(rows_per_batch=3) as running:
        yield running


Step = Callable[[RawClient], object]


async def transcript(client: RawClient, steps: list[Step]) -> list[object]:
    """Return the answers to each step, each of which ends with ReadyForQuery."""
    client.transcript.clear()
    for step in steps:
        step(client)
        await client.until("Z")
    return client.transcript


async def same(server: Server, postgres: PostgresServer, steps: list[Step]) -> None:
    async with raw_to(postgres.host, postgres.port) as theirs:
        theirs.startup(user="postgres", database="postgres")
        await theirs.until("Z")
        expected = await transcript(theirs, steps)
    async with raw(server) as ours:
        assert await transcript(ours, steps) == expected


def queries(*texts: str) -> list[Step]:
    return [lambda client, text=text: client.query(text) for text in texts]  # type: ignore[misc]


SIMPLE = {
    "empty": ["", ";", "-- comment", "select 1;;select 2;"],
    "several": ["select 1; select 2", "select 1; nonsense; select 2", "begin; select 1; commit; select 2"],
    "blocks": ["begin", "begin", "select 1", "commit", "commit", "rollback", "end", "abort"],
    "failed block": ["begin", "nonsense", "select 1", "", "commit", "select 1"],
    "failed then begin": ["begin", "nonsense", "begin", "savepoint s", "release s", "rollback"],
    "implicit block": ["select 1; commit; select 2", "select 1; rollback; select 2", "select 1; savepoint s"],
    "begin inside": ["select 1; begin; select 2", "select 3", "rollback; select 4", "start transaction; end"],
    "savepoints": [
        "savepoint s", "rollback to s", "release s", "begin", "savepoint s", "savepoint s", "release s", "rollback to s",
        "rollback to t", "select 1", "rollback to s", "select 1", "release s", "release s", "rollback",
    ],
    "chain": ["commit and chain", "begin", "commit and chain", "nonsense", "rollback and chain", "commit and no chain",
              "select 1; commit and chain"],
    "chain of a failed block": ["begin", "nonsense", "commit and chain", "select 1", "commit"],
    "set local": ["set local work_mem = '1MB'", "begin; set local work_mem = '1MB'; commit", "set transaction read only"],
    "isolation": ["begin isolation level serializable, read only", "show transaction_isolation",
                  "show transaction_read_only", "commit", "show transaction_isolation"],
    "settings are transactional": ["begin", "set work_mem = '1MB'", "rollback", "show work_mem", "begin; set jit = off",
                                   "nonsense", "rollback", "show jit", "set nonsense = 1"],
    "settings of everyday": [
        "set standard_conforming_strings = on", "set standard_conforming_strings to default", "set work_mem = 65536",
        "show work_mem", "set work_mem = '1.5MB'", "show work_mem", "set work_mem = '1kB'", "set work_mem = '5 foo'",
        "set work_mem = 'abc'", "set statement_timeout = -1", "set statement_timeout = '5 parsecs'", "set bytea_output = 'x'",
        "set enable_seqscan = off", "show enable_seqscan", "set enable_seqscan = maybe", "set random_page_cost = 1.1",
        "show random_page_cost", "set random_page_cost = -1", "set join_collapse_limit = 0", "set join_collapse_limit = 'x'",
        "set max_parallel_workers_per_gather = 0", "set plan_cache_mode = force_custom_plan", "set maintenance_work_mem = '1GB'",
        "show maintenance_work_mem", "set default_text_search_config = 'pg_catalog.english'",
    ],
    "cursor names": ["declare c cursor for select 1", "begin", "declare c cursor for select 1",
                     "declare c cursor for select 1", "rollback", "fetch c", "close c", "move c", "close all",
                     "begin; declare c cursor for select 1; commit; select 1", "fetch c"],
    "cursor in implicit block": ["declare c cursor for select 1; fetch c; close c", "fetch c"],
    "no scroll": ["begin", f"declare c no scroll cursor for {TEN}", "savepoint s", "fetch prior c", "rollback to s",
                  "fetch 3 c", "fetch first c", "rollback to s", "fetch 0 c", "rollback to s", "move backward all c",
                  "rollback to s", "fetch absolute 7 c", "fetch relative 2 c", "fetch absolute 9 c", "rollback"],
    "hold": [f"declare c cursor with hold for {TEN}", "fetch 2 c", "begin", "fetch 2 c", "rollback", "fetch 2 c",
             f"declare c cursor with hold for {TEN}", "begin", f"declare d cursor with hold for {TEN}", "rollback",
             "fetch d", "begin; fetch 2 c; nonsense", "fetch c", "discard all", "fetch c"],
    "hold forward only": ["begin", f"declare c no scroll cursor with hold for {TEN}", "fetch 3 c", "commit",
                          "fetch 2 c", "fetch prior c", "fetch all c", "fetch all c", "close c"],
    "portals and savepoints": [
        "begin", f"declare a cursor for {TEN}", "savepoint s", f"declare b cursor for {TEN}", "fetch 2 a; fetch 2 b",
        "rollback to s", "fetch 2 a", "fetch b", "rollback to s", f"declare d cursor for {TEN}", "release s", "fetch d",
        "savepoint t", "nonsense", "rollback to t", "fetch d", "commit",
    ],
    "prepare": ["prepare p as select 1", "prepare p as select 1", "execute p", "execute q", "execute p (1)",
                "deallocate p", "deallocate p", "execute p", "deallocate all", "deallocate prepare all"],
    "prepare outlives a rollback": ["begin", "prepare p as select 7", "rollback", "execute p", "begin; nonsense",
                                    "execute p", "rollback", "execute p; execute p"],
    "discard": ["discard plans", "discard sequences", "discard temp", "discard all", "begin", "discard all", "rollback",
                "select 1; discard all"],
    "errors in fetch count": ["begin", f"declare c scroll cursor for {TEN}", "fetch -3 c", "fetch forward -1 c",
                              "fetch 3 c", "fetch -1 c", "fetch backward -2 c", "fetch absolute 0 c", "rollback"],
    "parameters": ["select $1"],
}  # fmt: skip


@pytest.mark.parametrize("name", SIMPLE)
async def test_simple_queries(server: Server, postgres: PostgresServer, name: str) -> None:
    await same(server, postgres, queries(*SIMPLE[name]))


def _run(client: RawClient, *texts: str, rows: int = 0) -> RawClient:
    for text in texts:
        client.parse("", text).bind("", "").execute("", rows)
    return client


EXTENDED: dict[str, list[Step]] = {
    "pipeline": [lambda c: _run(c, "select 1", "select 2", "nonsense", "select 3").sync(), *queries("select 4")],
    "begin in a pipeline": [lambda c: _run(c, "select 1", "begin", "select 2").sync(), *queries("commit")],
    "commit in a pipeline": [lambda c: _run(c, "begin", "select 1", "commit", "select 2", "commit").sync()],
    "cursor in a pipeline": [lambda c: _run(c, "declare c cursor for select 1", "fetch c").sync()],
    "savepoint in a pipeline": [lambda c: _run(c, "select 1", "savepoint s").sync()],
    "failed block": [
        lambda c: c.parse("ok", "select 1").parse("out", "rollback").sync(),
        *queries("begin", "nonsense"),
        lambda c: c.parse("x", "select 1").sync(),
        lambda c: c.bind("", "ok").sync(),
        lambda c: c.describe("S", "ok").sync(),
        lambda c: c.describe("S", "out").sync(),
        lambda c: c.parse("", "").bind("", "").execute("", 0).sync(),
        lambda c: c.bind("", "out").execute("", 0).sync(),
        lambda c: c.bind("", "ok").execute("", 0).sync(),
    ],
    "pages": [
        lambda c: c.parse("s", TEN).bind("p", "s").execute("p", 4).execute("p", 4).execute("p", 2).execute("p", 2).sync(),
        lambda c: c.bind("", "s").execute("", 3).bind("", "s").execute("", 2).execute("", 100).execute("", 1).sync(),
        lambda c: c.execute("p", 1).sync(),
    ],
    "portals live in a block": [
        *queries("begin"),
        lambda c: c.parse("s", TEN).bind("p", "s").execute("p", 3).sync(),
        lambda c: c.bind("q", "s").execute("q", 2).execute("p", 2).sync(),
        *queries("fetch 2 p", "move 1 q", "fetch prior p", "rollback", "fetch p"),
    ],
    "portals of a failed block": [
        *queries("begin"),
        lambda c: c.parse("s", TEN).bind("p", "s").execute("p", 3).sync(),
        *queries("nonsense"),
        lambda c: c.execute("p", 3).sync(),
        lambda c: c.execute("q", 3).sync(),
        *queries("rollback"),
        lambda c: c.execute("p", 3).sync(),
    ],
    "cursor as portal": [
        *queries(f"begin; declare c scroll cursor for {TEN}"),
        lambda c: c.describe("P", "c").execute("c", 3).sync(),
        *queries("fetch backward 2 c"),
        lambda c: c.execute("c", 0).execute("c", 0).close("P", "c").sync(),
        *queries("fetch c", "rollback"),
    ],
    "fetch as statement": [
        *queries(f"begin; declare c cursor for {TEN}"),
        lambda c: c.parse("f", "fetch 5 from c").describe("S", "f").bind("p", "f").describe("P", "p").execute("p", 2).sync(),
        *queries("fetch 2 c"),
        lambda c: c.execute("p", 0).sync(),
        lambda c: c.parse("m", "move 2 from c").describe("S", "m").bind("", "m").execute("", 0).sync(),
        lambda c: c.parse("g", "fetch from gone").describe("S", "g").bind("", "g").execute("", 0).sync(),
        *queries("rollback"),
    ],
    "names": [
        lambda c: c.parse("s", "select 1").parse("s", "select 1").sync(),
        lambda c: c.parse("s", "select 1").sync(),
        lambda c: c.bind("p", "s").bind("p", "s").sync(),
        lambda c: c.bind("", "gone").sync(),
        lambda c: c.bind("", "").sync(),
        lambda c: c.describe("S", "gone").sync(),
        lambda c: c.describe("P", "gone").sync(),
        lambda c: c.execute("gone", 0).sync(),
        lambda c: c.close("S", "s").close("S", "s").close("P", "gone").sync(),
        lambda c: c.bind("", "s").sync(),
        lambda c: c.parse("", "select 1; select 2").sync(),
        *queries("prepare s as select 1"),
        lambda c: c.bind("", "s").execute("", 0).sync(),
    ],
    "wrong counts": [
        lambda c: c.parse("s", "select 1").parse("t", "select $1::int4").sync(),
        lambda c: c.bind("", "s", [b"1"]).sync(),
        lambda c: c.bind("", "t").sync(),
        lambda c: c.bind("", "s", results=[0, 0]).sync(),
        lambda c: c.bind("", "s", results=[7]).execute("", 0).sync(),
        lambda c: c.bind("", "t", [None]).execute("", 0).sync(),
    ],
    "statements without rows": [
        lambda c: c.parse("s", "set jit = off").describe("S", "s").bind("p", "s").describe("P", "p").sync(),
        lambda c: c.bind("p", "s").execute("p", 0).sync(),
        lambda c: c.bind("p", "s").execute("p", 0).execute("p", 0).sync(),
        lambda c: c.parse("", "").describe("S", "").bind("", "").describe("P", "").execute("", 0).execute("", 0).sync(),
    ],
    "simple query in between": [
        lambda c: c.parse("", "select 1").bind("", "").query("select 2"),
        lambda c: c.execute("", 0).sync(),
        lambda c: c.bind("", "").sync(),
    ],
    "copy messages and function calls": [
        lambda c: c.message("d", b"x").message("c").message("f", b"why\0").query("select 1"),
        lambda c: c.sync(),
        lambda c: c.sync(),
    ],
    "deallocate in a pipeline": [
        lambda c: c.parse("s", "select 1").sync(),
        lambda c: _run(c, "deallocate s", "execute s").sync(),
        lambda c: c.bind("", "s").sync(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", EXTENDED)
async def test_extended_queries(server: Server, postgres: PostgresServer, name: str) -> None:
    await same(server, postgres, EXTENDED[name])


def _movement(chance: random.Random) -> str:
    word = chance.choice(["fetch", "fetch", "fetch", "move"])
    direction = chance.choice(
        ["next", "prior", "first", "last", "all", "forward", "backward", "forward all", "backward all", "absolute {}",
         "relative {}", "{}", "forward {}", "backward {}"]
    )  # fmt: skip
    return f"{word} {direction.format(chance.randint(-13, 13))} from c"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rows", [0, 1, 10])
async def test_a_cursor_stands_where_postgresqls_does(
    server: Server, postgres: PostgresServer, seed: int, rows: int
) -> None:
    chance = random.Random(seed * 100 + rows)
    hold = " with hold" if seed % 2 else ""
    steps = ["begin", f"declare c scroll cursor{hold} for select * from generate_series(1, {rows})"]
    steps += [_movement(chance) for _ in range(40)]
    if hold:
        steps += ["commit", *(_movement(chance) for _ in range(40)), "close c"]
    await same(server, postgres, queries(*steps))

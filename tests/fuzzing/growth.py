"""Measure how the cost of statements grows: each construct of the grammar 10, 100, 1,000 ... times in one statement.

`python -m fuzzing.growth [NAME ...] [--largest 100000] [--seconds 10] [--log FILE]` sends them to its own member. For each size it
prints the processor time that the member took, the client's seconds, `ok` or the SQLSTATE, another client's longest
`select 1` meanwhile, and the member's memory. A construct grows until a statement takes `--seconds`, or is refused for
its depth or its size. These findings are printed at the end and make the exit status 1:

- ten times the items took far more than ten times the processor time;
- under `statement_timeout = '1s'` the client had no answer after 1.5 s;
- another client's `select 1` took more than 0.2 s.

The last two are reliable only on an idle machine; the first is reliable on any.

To add a construct: a row in `CONSTRUCTS`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil
import psycopg
from support.member_process import MemberProcess

#: Times the growth of the statement, from so many processor seconds on: sorting, hashing and a collection of garbage are let pass.
_GROWTH: Final = 2.5
_COUNTS_SECONDS: Final = 0.3
_TIMEOUT: Final = "1s"
_ENDED_SECONDS: Final = 1.5
_OTHERS_SECONDS: Final = 0.2
_PROBE_SECONDS: Final = 0.01
#: Texts of several statements, to each of which the timeout applies by itself, as in PostgreSQL since version 13.
_TIMED_EACH: Final = ("statements",)
_REFUSED: Final = ("54001", "54000", "54011", "54023", "0A000", "53200")


def _list(before: str, separator: str, item: Callable[[int], str], after: str = "") -> Callable[[int], str]:
    return lambda size: before + separator.join(map(item, range(size))) + after


def _nested(before: str, opened: str, inner: str, closed: str, after: str = "") -> Callable[[int], str]:
    return lambda size: before + opened * size + inner + closed * size + after


#: Statements by the number of the construct that they have, over t (a int, s text) and u (a int, b text, c numeric).
CONSTRUCTS: Final[Mapping[str, Callable[[int], str]]] = {
    "OR": _list("select count(*) from t where ", " or ", lambda i: f"a = {i}"),
    "OR of two columns": _list("select count(*) from t where ", " or ", lambda i: f"(a = {i} and s = 'x{i}')"),
    "AND": _list("select count(*) from t where ", " and ", lambda i: f"a <> {i}"),
    "AND of expressions": _list("select count(*) from t where ", " and ", lambda i: f"a + {i} > abs(a - {i})"),
    "NOT": _nested("select count(*) from t where ", "not ", "a = 1", ""),
    "IN of constants": _list("select count(*) from t where a in (", ",", str, ")"),
    "IN of expressions": _list("select count(*) from t where a in (", ",", lambda i: f"abs({i}) + a", ")"),
    "IN of rows": _list("select count(*) from t where (a, s) in (", ",", lambda i: f"({i}, 'x{i}')", ")"),
    "VALUES of constants": _list("select count(*) from (values ", ",", lambda i: f"({i}, 'a{i}', {i}.5)", ") v"),
    "VALUES of expressions": _list("select count(*) from (values ", ",", lambda i: f"({i} + 1, upper('a{i}'))", ") v"),
    "VALUES of casts": _list("select count(*) from (values ", ",", lambda i: f"('{i}'::int, date '2001-01-01')", ") v"),
    "VALUES of one cast": _list("select max(x) from (values ", ",", lambda i: f"({i}::bigint)", ") v (x)"),
    "VALUES of negatives": _list("select max(x) from (values ", ",", lambda i: f"(-{i}, null, true)", ") v (x)"),
    "VALUES of mixed types": _list("select max(x) from (values ", ",", lambda i: f"({i}{'.5' * (i % 2)})", ") v (x)"),
    "VALUES of arrays": _list("select count(*) from (values ", ",", lambda i: f"(array[{i}, 2])", ") v"),
    "VALUES of now": _list("select count(*) from (values ", ",", lambda i: f"({i}, now())", ") v"),
    "INSERT of constants": _list("insert into u values ", ",", lambda i: f"({i}, 'a{i}', {i}.5)"),
    "INSERT of expressions": _list("insert into u values ", ",", lambda i: f"({i} + 1, upper('a{i}'), {i}.5)"),
    "INSERT of defaults": _list("insert into u values ", ",", lambda i: f"({i}, default, default)"),
    "INSERT of strings": _list("insert into u values ", ",", lambda i: f"('{i}', 'a{i}', '{i}.5')"),
    "ARRAY of constants": _list("select array[", ",", str, "]"),
    "ARRAY of expressions": _list("select count(*) from t where a = any(array[", ",", lambda i: f"{i} + 1", "])"),
    "ARRAY of columns": _list("select array[", ",", lambda i: f"a + {i}", "] from t limit 1"),
    "an array's text": _list("select count(*) from t where a = any('{", ",", str, "}')"),
    "ROW": _list("select row(", ",", str, ")"),
    "CASE": _list("select case ", " ", lambda i: f"when a = {i} then {i}", " end from t limit 1"),
    "CASE of a value": _list("select case a ", " ", lambda i: f"when {i} then 'x{i}'", " end from t limit 1"),
    "CASE, nested": _nested("select ", "case when a = 1 then 2 else ", "3", " end", " from t limit 1"),
    "COALESCE": _list("select coalesce(", ",", lambda i: f"nullif(a, {i})", ") from t limit 1"),
    "GREATEST": _list("select greatest(", ",", lambda i: f"a + {i}", ") from t limit 1"),
    "concat": _list("select concat(", ",", lambda i: f"'x{i}'", ")"),
    "sum of constants": _list("select ", "+", lambda _: "1"),
    "sum of columns": _list("select ", "+", lambda _: "a", " from t limit 1"),
    "||": _list("select ", "||", lambda _: "s", " from t limit 1"),
    "parentheses": _nested("select ", "(", "1", ")"),
    "calls, nested": _nested("select ", "upper(", "'a'", ")"),
    "casts, in a row": _nested("select 1", "::int", "", ""),
    "signs": _nested("select ", "- ", "1", ""),
    "columns": _list("select ", ",", lambda i: f"a as c{i}", " from t limit 1"),
    "columns of expressions": _list("select ", ",", lambda i: f"a + {i} as c{i}", " from t limit 1"),
    "columns of constants": _list("select ", ",", lambda i: f"{i} as c{i}"),
    "columns of a subquery": _list("select * from (select ", ",", lambda i: f"a + {i} as c{i}", " from t) x limit 1"),
    "calls": _list("select ", ",", lambda i: f"substr(s, {i})", " from t limit 1"),
    "columns of rows": _list("select ", ",", lambda i: f"a + {i}", " from t"),
    "aggregates": _list("select ", ",", lambda i: f"sum(a + {i})", " from t"),
    "aggregates of DISTINCT": _list("select ", ",", lambda i: f"count(distinct a + {i})", " from t"),
    "FILTER": _list("select ", ",", lambda i: f"count(*) filter (where a = {i})", " from t"),
    "windows": _list("select ", ",", lambda i: f"sum(a) over (order by a + {i})", " from t limit 1"),
    "WINDOW": _list("select a from t window ", ",", lambda i: f"w{i} as (order by a + {i})", " limit 1"),
    "GROUP BY": _list("select count(*) from t group by ", ",", lambda i: f"a + {i}"),
    "GROUPING SETS": _list("select count(*) from t group by grouping sets (", ",", lambda i: f"(a + {i})", ")"),
    "HAVING": _list("select a from t group by a having ", " or ", lambda i: f"count(*) > {i}"),
    "ORDER BY": _list("select a from t order by ", ",", lambda i: f"a + {i}", " limit 1"),
    "DISTINCT ON": _list("select distinct on (", ",", lambda i: f"a + {i}", ") a from t"),
    "UNION ALL": _list("", " union all ", lambda i: f"select {i}"),
    "UNION ALL of a table": _list("", " union all ", lambda i: f"select a from t where a = {i}"),
    "UNION": _list("", " union ", lambda i: f"select {i}"),
    "INTERSECT": _list("", " intersect ", lambda i: f"select a from t where a > {i}"),
    "cross joins": _list("select 1 from ", ", ", lambda i: f"one r{i}"),
    "joins": _list("select 1 from one r0", "", lambda i: f" join one r{i + 1} on r{i}.a = r{i + 1}.a"),
    "joins by USING": _list("select 1 from one r0", "", lambda i: f" join one r{i + 1} using (a)"),
    "left joins": _list("select 1 from one r0", "", lambda i: f" left join one r{i + 1} on r0.a = r{i + 1}.a"),
    "joins by WHERE": lambda size: "select 1 from " + ",".join(f"one r{i}" for i in range(size + 1)) + " where "
    + " and ".join(f"r{i}.a = r{i + 1}.a" for i in range(size)),
    "functions in FROM": _list("select 1 from ", ", ", lambda i: f"generate_series(1, 1) r{i}"),
    "LATERAL": _list("select 1 from one r0", "", lambda i: f", lateral (select r{i}.a) r{i + 1} (a)"),
    "subqueries, nested": _nested("", "select a from (", "select a from t", ") x", " limit 1"),
    "subqueries in FROM": _list("select 1 from ", ", ", lambda i: f"(select 1) r{i}"),
    "scalar subqueries, nested": _nested("select ", "(select a + ", "t.a", " from one)", " from t limit 1"),
    "NOT IN, nested": _nested("select 1 from t where ", "a not in (select a from one where a > t.a and ", "true", ")"),
    "ALL, nested": _nested("select 1 from t where ", "a > all (select a from one where a < t.a and ", "true", ")"),
    "ALL of the catalog, nested": _nested(
        "select 1 from pg_type where ",
        "typlen > all (select oid::int from pg_class where relnatts < typlen and ", "true", ")",
    ),
    "CASE of values, nested": _nested("select ", "case ", "1", " when 1 then 2 when 3 then 4 when 5 then 6 end"),
    "NULLIF, nested": _nested("select ", "nullif(", "1", ", 1)"),
    "scalar subqueries": _list("select ", ",", lambda i: f"(select max(a + {i}) from t)"),
    "correlated subqueries": _list(
        "select ", ",", lambda i: f"(select max(x.a) from t x where x.a = t.a + {i})", " from t limit 1"
    ),
    "EXISTS": _list("select count(*) from t where ", " and ", lambda i: f"exists (select from one where one.a + {i} > t.a)"),
    "IN of subqueries": _list("select count(*) from t where ", " or ", lambda i: f"a in (select a + {i} from one)"),
    "WITH": _list("with ", ",", lambda i: f"w{i} as (select {i} as a)", " select 1"),
    "WITH, each of the one before": _list(
        "with w0 as (select 1 as a)", "", lambda i: f", w{i + 1} as (select a from w{i})", " select 1"
    ),
    "WITH, each twice the one before": _list(
        "with w0 as (select 1 as a)", "", lambda i: f", w{i + 1} as (select x.a from w{i} x, w{i} y)", " table w0"
    ),
    "EXPLAIN": _list("explain select count(*) from t where ", " or ", lambda i: f"a = {i}"),
    "LIKE": _list("select count(*) from t where ", " or ", lambda i: f"s like '%x{i}%'"),
    "BETWEEN": _list("select count(*) from t where ", " or ", lambda i: f"a between {i} and {i + 1}"),
    "IS NULL": _list("select count(*) from t where ", " and ", lambda _: "a is not null"),
    "subscripts": _nested("select (array[1])", "[1]", "", ""),
    "a string": _list("select '", "", lambda _: "a", "'"),
    "a string of quotes": _list("select '", "", lambda _: "''", "'"),
    "a comment": _list("select 1 /*", "", lambda _: " /* */", "*/"),
    "blanks": _list("select 1", "", lambda _: " "),
    "a number": _list("select 1", "", lambda _: "0"),
    "statements": _list("", ";", lambda _: "select 1"),
    "a quoted name": _list('select 1 as "', "", lambda _: "x", '"'),
    "parts of a name": _list("select ", ".", lambda i: f"x{i}"),
    "UPDATE SET": _list("update t set a = ", "+", str),
    "UPDATE CASE": _list("update t set a = case a ", " ", lambda i: f"when {i} then {i + 1}", " else a end"),
    "DELETE": _list("delete from t where ", " or ", lambda i: f"a = -{i} - 1"),
    "MERGE": _list("merge into t using one on t.a = one.a", "", lambda i: f" when matched and t.a = -{i} then delete"),
    "CREATE TABLE": _list("create temp table x (", ",", lambda i: f"c{i} int", ")"),
    "CREATE TABLE, CHECK": _list("create temp table x (a int, ", ",", lambda i: f"check (a <> {i})", ")"),
    "CREATE VIEW": _list("create or replace view x as select ", ",", lambda i: f"a + {i} as c{i}", " from t"),
    "CREATE TYPE": _list("create type pg_temp.x as enum (", ",", lambda i: f"'x{i}'", ")"),
    "SET": _list("set search_path = ", ",", lambda i: f"s{i}"),
    "DROP": _list("drop table if exists ", ",", lambda i: f"no{i}"),
    "json_build_object": _list("select json_build_object(", ",", lambda i: f"'k{i}', {i}", ")"),
    "a JSON text": _list("select jsonb '[", ",", str, "]'"),
    "a nested JSON text": _nested("select jsonb '", "[", "", "]", "'"),
    "a regular expression": _list("select 'a' ~ '", "|", lambda i: f"x{i}", "'"),
    "format": _list("select format('", "", lambda _: "%s", "', 1)"),
    "interval": _list("select interval '", " ", lambda i: f"{i} days", "'"),
}  # fmt: skip


class Seen(NamedTuple):
    """The measurements of one statement.

    processor: seconds of processor time that the member took.
    ended: seconds until the client's statement ended.
    outcome: `ok`, or its SQLSTATE.
    others: the longest `select 1` of another client, in seconds.
    memory: the member's peak memory, in bytes.
    """

    processor: float
    ended: float
    outcome: str
    others: float
    memory: int


def _probe(member: MemberProcess, over: threading.Event) -> tuple[float, int]:
    process, worst, most = psutil.Process(member.pid), 0.0, 0
    with member.connect() as connection:
        while not over.wait(_PROBE_SECONDS):
            began = time.perf_counter()
            connection.execute("select 1")
            worst = max(worst, time.perf_counter() - began)
            most = max(most, process.memory_info().rss)
    return worst, most


def _processor(member: MemberProcess) -> float:
    return float(sum(psutil.Process(member.pid).cpu_times()[:2]))


def watch(member: MemberProcess, statement: bytes, timeout: str) -> Seen:
    """Run the statement while another client runs a short query again and again. timeout: its statement_timeout."""
    over = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        probe = threads.submit(_probe, member, over)
        try:
            worked = _processor(member)
            connection: psycopg.Connection[Any]
            with member.connect(options=f"-c statement_timeout={timeout}") as connection:
                began, outcome = time.perf_counter(), "ok"
                try:
                    connection.execute(statement)
                except psycopg.Error as error:
                    outcome = error.sqlstate or type(error).__name__
                ended = time.perf_counter() - began
                worked = _processor(member) - worked
        finally:
            over.wait(0.2)
            over.set()
        return Seen(worked, ended, outcome, *probe.result())


def _grow(member: MemberProcess, name: str, largest: int, seconds: float) -> Iterator[str]:
    """Yield the findings about a construct, and print each size."""
    size, before = 10, None
    while size <= largest:
        statement = CONSTRUCTS[name](size).encode()
        seen = watch(member, statement, f"{seconds:g}s")
        _print(name, size, seen)
        if seen.others > _OTHERS_SECONDS:
            yield f"{name}, {size}: another's select 1 took {seen.others:.2f} s"
        if before is not None and seen.processor > max(10 * _GROWTH * before, _COUNTS_SECONDS):
            yield f"{name}, {size}: {seen.processor:.2f} s of processor time, {before:.2f} s for a tenth"
        if seen.outcome in _REFUSED:
            return
        if seen.ended > 1:
            short = watch(member, statement, _TIMEOUT)
            _print(f"{name}, {_TIMEOUT}", size, short)
            if short.ended > _ENDED_SECONDS and name not in _TIMED_EACH:
                yield f"{name}, {size}: ended after {short.ended:.2f} s under a timeout of {_TIMEOUT}"
            if short.others > _OTHERS_SECONDS:
                yield f"{name}, {size}: another's select 1 took {short.others:.2f} s under a timeout of {_TIMEOUT}"
        if seen.ended >= seconds:
            return
        size, before = size * 10, max(seen.processor, 0.01)


def _print(name: str, size: int, seen: Seen) -> None:
    print(
        f"{name:32} {size:7} {seen.outcome:6} processor {seen.processor:6.2f} s, ended {seen.ended:6.2f} s, "
        f"others {seen.others:5.2f} s, {seen.memory >> 20:5} MiB",
        flush=True,
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="fuzzing.growth")
    parser.add_argument("names", nargs="*", default=list(CONSTRUCTS))
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--log", type=Path, help="keep the member's log in this file")
    asked = parser.parse_args(arguments)
    found: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        MemberProcess(
            Path(folder) / "data", environment={"SLUICE_SPARK__START": "lazy"}, log=asked.log or Path(folder) / "log"
        ) as member,
    ):
        with member.connect() as connection:
            connection.execute("create table t (a int, s text)")
            connection.execute("insert into t select i, 'x' || i from generate_series(1, 1000) i")
            connection.execute("create table one as select 1 as a")
            connection.execute("create table u (a int, b text, c numeric(12, 2))")
        for name in asked.names:
            with contextlib.suppress(KeyboardInterrupt):
                found += _grow(member, name, asked.largest, asked.seconds)
    print("\n".join(found) or "all of it grows with the statement")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

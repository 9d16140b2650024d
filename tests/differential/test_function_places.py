"""Functions and operators of the function table in the places where an expression may stand: PostgreSQL's answers.

Each is called with columns of a few rows, among them each argument null by itself, and asked in a select list, GROUP BY and HAVING,
FILTER, a correlated subquery, LATERAL, a window, an outer join, over aggregates and as a prepared statement. A sample runs with
`make test`; `PLACES=1000 SEED=3 pytest -m "long or not long" tests/differential/test_function_places.py` takes as many
(all of them: ten minutes).
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from support.local_member import local_member, say
from support.postgres_server import PostgresServer

from engine.sql.functions import Function
from engine.sql.functions.registry import registry

pytestmark = pytest.mark.postgres

PLACES: Final = int(os.environ.get("PLACES", "12"))
SEED: Final = int(os.environ.get("SEED", "1"))
#: Two values of each type.
_VALUES: Final = {
    "int2": ("3", "-2"), "int4": ("3", "-2"), "int8": ("4", "-3"), "numeric": ("2.50", "-1.25"), "float4": ("1.5", "-2"),
    "float8": ("2.25", "-0.5"), "text": ("'ab c'", "'zab'"), "varchar": ("'abc'", "'x'"), "bpchar": ("'ab '", "'q'"),
    "name": ("'nm'", "'pg'"), "bool": ("true", "false"), "date": ("'2024-02-29'", "'1999-12-31'"),
    "time": ("'12:34:56.789'", "'00:00:01'"), "timetz": ("'12:34:56+02'", "'01:00:00-05'"),
    "timestamp": ("'2024-02-29 12:34:56.7'", "'1999-12-31 23:59:59'"),
    "timestamptz": ("'2024-02-29 12:34:56.7+00'", "'1999-12-31 23:59:59+00'"),
    "interval": ("'1 mon 2 days 03:04:05'", "'-5 days 00:00:01'"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'00000000-0000-0000-0000-000000000001'"),
    "bytea": (r"'\x616263'", r"'\x00ff'"), "bit": ("'1010'", "'0110'"), "varbit": ("'101'", "'01'"),
    "json": ("""'{"a":[1,2]}'""", "'[1,null]'"), "jsonb": ("""'{"a":[1,2]}'""", "'[1,null]'"),
    "inet": ("'10.1.2.3/24'", "'::1'"), "cidr": ("'10.1.0.0/16'", "'10.2.0.0/16'"),
    "macaddr": ("'08:00:2b:01:02:03'", "'08:00:2b:01:02:04'"), "point": ("'(1,2)'", "'(3,4)'"),
    "box": ("'(1,1),(0,0)'", "'(3,3),(2,2)'"), "money": ("'12.34'", "'-1'"), "int4range": ("'[1,5)'", "'[3,9)'"),
    "numrange": ("'[1,5)'", "'[3,9)'"), "daterange": ("'[2024-01-01,2024-02-01)'", "'empty'"),
    "tsvector": ("'a b:1'", "'c'"), "tsquery": ("'a & b'", "'c'"), "jsonpath": ("'$.a'", "'$[*]'"),
    "_int4": ("'{1,2,null}'", "'{}'"), "_text": ("'{a,null,c}'", "'{}'"), "anyarray": ("'{1,2,null}'", "'{}'"),
    "anyelement": ("3", "-2"), "anycompatible": ("3", "-2"), "anycompatiblearray": ("'{1,2,null}'", "'{}'"),
    "anynonarray": ("3", "-2"),
}  # fmt: skip
#: What a value is cast to, where not to the type of that name. Numerics have one scale: others would gain or lose trailing zeros.
_TYPES: Final = {
    "anyarray": "int4[]", "anyelement": "int4", "anycompatible": "int4", "anycompatiblearray": "int4[]",
    "anynonarray": "int4", "_int4": "int4[]", "_text": "text[]", "bit": "bit(4)", "bpchar": "char(3)",
    "numeric": "numeric(6, 2)",
}  # fmt: skip
_WITH_MAX: Final = frozenset(
    {
        "int2",
        "int4",
        "int8",
        "numeric",
        "float4",
        "float8",
        "text",
        "varchar",
        "date",
        "time",
        "timestamp",
        "timestamptz",
    }
    | {"interval", "inet", "timetz", "money"}
)
#: The binder's own names, what waits or has effects, and what is of the server and not of its arguments. PostgreSQL's cbrt differs
#: in the last digit.
_LEFT_OUT: Final = re.compile(
    r"=.*|subscript|slice|set_config|random|setseed|nextval|setval|pg_.*|.*lock.*|current_setting|lo_.*|has_.*|cbrt|\|\|/"
)


@dataclass(frozen=True)
class Called:
    """An expression over the columns `c0` ... of some rows. lists: VALUES that have them. arguments: one of each."""

    expression: str
    names: Sequence[str]
    types: Sequence[str]
    lists: Sequence[str]
    arguments: Sequence[str]

    @classmethod
    def of(cls, row: Function) -> Called:
        names = [argument.name for argument in row.args]
        columns, types = [f"c{number}" for number in range(len(names))], [_TYPES.get(name, name) for name in names]
        first, second = ([_VALUES[name][which] for name in names] for which in (0, 1))
        typed = [f"{value}::{typ}" for value, typ in zip(first, types, strict=True)]
        nulls = [["null" if place == at else value for place, value in enumerate(first)] for at in range(len(names))]
        expression = f"{row.name}({', '.join(columns)})"
        if row.kind == "operator":
            expression = f"c0 {row.name} c1" if len(names) == 2 else f"{row.name} c0"
        rows = [[typed, second, *nulls], [typed, ["null"] * len(names)]]
        return cls(expression, names, types, [_values(each, columns) for each in rows], first)

    def over(self, name: str) -> str:
        """The expression with other operands than the columns. name: has `{}` for a column's number."""
        return re.sub(r"\bc(\d)\b", lambda match: name.format(match[1]), self.expression)


def _values(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> str:
    listed = ", ".join(f"({', '.join(row)})" for row in rows)
    return f"(values {listed}) t({', '.join(columns)})"


def _callable(row: Function) -> bool:
    named = row.args and len(row.args) <= 4 and all(argument.name in _VALUES for argument in row.args)
    fits = row.kind in ("function", "operator") and not row.returns_set and not _LEFT_OUT.fullmatch(row.name)
    return bool(named) and fits


def _questions(called: Called, rows: str) -> Iterator[str]:
    e = called.expression
    yield f"select ({e})::text, ({e}) is null from {rows}"
    group = ", ".join(f"c{number}" for number in range(len(called.names)))
    yield f"select ({e})::text from {rows} group by {group} having ({e}) is not null order by 1 nulls last"
    yield f"select count(*) filter (where ({e}) is not null), count(distinct ({e})::text), max(({e})::text) from {rows}"
    yield f"select (select ({e})::text from (values (1)) v(z)), case when ({e}) is null then 'n' else ({e})::text end from {rows}"
    yield f"select x.v from {rows} cross join lateral (select ({e})::text as v limit 1) x"
    yield f"select count(*) over (partition by ({e})::text) from {rows} order by 1, ({e})::text"
    yield f"select coalesce(({e})::text, 'none'), ({e}) is distinct from null from {rows} where ({e}) is not null or true"
    sides = re.sub(r"\bc(\d)\b", lambda match: f"{'a' if match[1] == '0' else 'b'}.c{match[1]}", e)
    yield f"with t as (select * from {rows}) select count(*) from t a left join t b on ({sides}) is not null"
    yield f"with t as materialized (select * from {rows}) select distinct ({e})::text from t order by 1 offset 0"
    if _WITH_MAX.issuperset(called.names):
        of_aggregates = called.over("max(c{})")
        yield f"select ({of_aggregates})::text from {rows} having ({of_aggregates}) is not null"
        yield f"select q.v::text from (select {of_aggregates} as v, count(*) n from {rows}) q where q.v is not null and n > 0"


def _prepared(called: Called) -> Iterator[str]:
    """$1 ... stand for the columns."""
    e = re.sub(r"\bc(\d)\b", lambda match: f"${int(match[1]) + 1}", called.expression)
    yield "deallocate all"
    yield f"prepare p({', '.join(called.types)}) as select ({e})::text, ({e}) is null"
    yield f"execute p({', '.join(called.arguments)})"


def test_same_in_every_place(tmp_path: Path, postgres: PostgresServer) -> None:
    rows = [row for row in registry().rows if _callable(row)]
    random.Random(SEED).shuffle(rows)
    with local_member(tmp_path) as member, member.connect() as ours, psycopg.connect(postgres.dsn) as theirs:
        theirs.autocommit = True
        ours.execute("set sluice.engine = 'local'")
        wrong = [told for row in rows[:PLACES] for told in _differences(Called.of(row), ours, theirs)]
    assert not wrong, "\n".join(wrong)


def _differences(called: Called, ours: psycopg.Connection[Any], theirs: psycopg.Connection[Any]) -> Iterator[str]:
    """What is refused by name is no difference, and neither is where PostgreSQL has an error: another row's may come first."""
    for rows in called.lists:
        first, *others = _questions(called, rows)
        expected, told = say(theirs, first), say(ours, first)
        if expected.error is None and told.error is not None and told.error[0] == "0A000":
            return
        if expected.error is None:
            yield from (
                each for question in (first, *others, *_prepared(called)) for each in _told(question, ours, theirs)
            )
            return


def _told(question: str, ours: psycopg.Connection[Any], theirs: psycopg.Connection[Any]) -> Iterator[str]:
    expected, told = say(theirs, question), say(ours, question)
    refused = told.error is not None and told.error[0] == "0A000"
    if expected.error is None and not refused and (told.error is not None or repr(told.rows) != repr(expected.rows)):
        yield f"{question}\n    is {told.rows if told.error is None else told.error[:2]}, PostgreSQL's {expected.rows}"

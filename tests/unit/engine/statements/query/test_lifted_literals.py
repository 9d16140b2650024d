"""The literals of a query that become parameters."""

from __future__ import annotations

import pytest

from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from engine.statements.query.lifted_literals import lift_literals
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings


def _lifted(sql: str) -> str | None:
    [query] = parse(sql)
    assert isinstance(query, Query)
    lifted = lift_literals(query)
    return None if lifted is None else lifted.query.text


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select v, 1 from k where id = 7", "select v, 1 from k where id = $1"),
        ("select v from k where 'x' = v and id <> 12", "select v from k where $1 = v and id <> $2"),
        ("select 1 from a join b on a.x = b.x and b.y >= 3", "select 1 from a join b on a.x = b.x and b.y >= $1"),
        (
            "select 1 from k where id between 1 and 2 or d < '2024-1-1'",
            "select 1 from k where id between $1 and $2 or d < $3",
        ),
        ("select (select v from k where id = 1), 2 from l", "select (select v from k where id = $1), 2 from l"),
        ("select relname from pg_class where oid = '16384'", "select relname from pg_class where oid = $1"),
    ],
)
def test_what_columns_are_compared_with(sql: str, expected: str) -> None:
    assert _lifted(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 = id from k",
        "select v from k where id + 1 = 7",
        "select v from k where id = 1.5",
        "select v from k where id = 3000000000",
        "select v from k where v = e'a'",
        "select v from k where v = 'it''s'",
        "select v from k where id = $1 and v = 'x'",
        "select v from k group by v having count(*) = 1",
        "select relname from pg_class where relname = 'k'",
        "select v from k where n = 1e3",
    ],
)
def test_others_stay(sql: str) -> None:
    assert _lifted(sql) is None


def test_values_are_what_the_types_read() -> None:
    [query] = parse("select 1 from k where a = 7 and b = 'x y' and c = '7' and d = '2024-02-29'")
    assert isinstance(query, Query)
    lifted = lift_literals(query)
    assert lifted is not None
    settings = InputSettings()
    found = lifted.arguments((t.INT4, t.TEXT, t.INT2, t.DATE), settings)
    assert found is not None
    assert found[:3] == (7, "x y", 7)
    assert lifted.arguments((t.INT4, t.TEXT, t.INT2, t.BPCHAR), settings) is None
    assert lifted.arguments((t.INT4, t.INT4, t.INT2, t.DATE), settings) is None, "it is no number"

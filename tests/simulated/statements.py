"""Statements for simulated clients: made by a small grammar, for the shapes of their plans more than for their expressions.

Every shape that the planner cuts into fragments comes up: scans, filters, two-stage aggregates, joins of every kind (hashed,
mirrored, semi and anti), DISTINCT, set operations, windows, total orders (merged), LIMIT, and these within one another.

To plan a statement takes longer than all the rest of a run. So most are from a repertoire, whose plans are remembered from run to
run; the others are new, and show what the repertoire does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Final

from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement. ordered: the order of its rows is a part of the answer. whole: any so many of the rows of this are right;
    None: it is one answer."""

    text: str
    ordered: bool = False
    whole: str | None = None


_Make = Callable[[Random], str]
_SMALL: Final = (0, 3, 10, 40)
_REPERTOIRE: Final = 100
#: How often a statement is of the repertoire.
_KNOWN: Final = 0.97


def ask(chance: Random) -> Asked:
    """A statement by chance."""
    return chance.choice(_repertoire()) if chance.random() < _KNOWN else _make_statement(chance)


@cache
def _repertoire() -> tuple[Asked, ...]:
    chance = Random(0)
    return tuple(_make_statement(chance) for _ in range(_REPERTOIRE))


def _make_statement(chance: Random) -> Asked:
    kind = chance.random()
    if kind < 0.25:
        return Asked(_ordered_query(chance), ordered=True)
    if kind < 0.35:
        whole = _scan(chance)
        return Asked(f"{whole} limit {chance.choice((1, 7, 30))}", whole=whole)
    return Asked(chance.choice(_BAGS)(chance))


def _scan(chance: Random) -> str:
    columns = chance.choice(("id, k, v, s", "id", "s, g", "id, v + 1, k % 4", "*"))
    return f"select {columns} from t{_where(chance)}"


def _where(chance: Random) -> str:
    value = chance.choice(_SMALL)
    return chance.choice(
        (
            "",
            "",
            f" where k < {value}",
            f" where v is null or g = {value}",
            f" where id > {value * 8}",
            " where s like '%9'",
        )
    )


def _grouped_query(chance: Random) -> str:
    key = chance.choice(("g", "k", "k % 3", "s is null"))
    what = chance.choice(
        ("count(*), sum(v)", "min(s), max(id)", "count(distinct k), count(v)", "sum(v) filter (where k > 9), avg(v)")
    )
    having = chance.choice(("", "", " having count(*) > 5"))
    return f"select {key}, {what} from t{_where(chance)} group by {key}{having}"


def _counted_query(chance: Random) -> str:
    return f"select count(*), sum(v), min(id), max(s) from t{_where(chance)}"


def _joined_query(chance: Random) -> str:
    kind = chance.choice(("join", "left join", "right join", "full join"))
    return f"select t.id, u.id, t.v, u.w from (select * from t{_where(chance)}) t {kind} u on t.k = u.k"


def _mirrored_query(chance: Random) -> str:
    kind = chance.choice(("join", "left join"))
    return f"select t.id, d.name from (select * from t{_where(chance)}) t {kind} d on t.g = d.g"


def _joined_and_grouped(chance: Random) -> str:
    joined = f"t join u on t.k = u.k join d on t.g = d.g where t.id > {chance.choice(_SMALL)}"
    return f"select d.name, count(*), sum(u.w) from {joined} group by d.name"


def _half_joined(chance: Random) -> str:
    negated = chance.choice(("", "not "))
    return (
        f"select id, k from t where {negated}exists (select 1 from u where u.k = t.k and u.w > {chance.choice(_SMALL)})"
    )


def _distinct(chance: Random) -> str:
    return f"select distinct {chance.choice(('g', 'k, g', 's is null, k % 2'))} from t{_where(chance)}"


def _united_query(chance: Random) -> str:
    how = chance.choice(("union all", "union", "intersect", "except"))
    return f"select k from t{_where(chance)} {how} select k from u"


def _windowed_query(chance: Random) -> str:
    first, second = "row_number() over (partition by g order by id)", "sum(v) over (partition by g)"
    return f"select id, {first}, {second} from t{_where(chance)}"


def _nested_query(chance: Random) -> str:
    return f"select n, count(*) from (select g, count(*) as n from t{_where(chance)} group by g) x group by n"


def _with(chance: Random) -> str:
    return f"with x as (select k, sum(v) as v from t{_where(chance)} group by k) select u.id, x.v from u join x on u.k = x.k"


def _empty(chance: Random) -> str:
    return chance.choice(
        (
            "select * from e",
            "select count(*) from e",
            "select t.id from t join e on t.k = e.k",
            "select t.id from t left join e on t.k = e.k",
        )
    )


def _ordered_query(chance: Random) -> str:
    order = chance.choice(("id", "id desc", "v nulls first, id", "s desc nulls last, id", "g, id desc"))
    text = f"select id, g, v, s from t{_where(chance)} order by {order}"
    return text + chance.choice(("", "", " limit 5", " limit 40 offset 3", " offset 17"))


_BAGS: Final[tuple[_Make, ...]] = (
    _scan, _grouped_query, _grouped_query, _counted_query, _joined_query, _mirrored_query, _joined_and_grouped,
    _half_joined, _distinct, _united_query, _windowed_query, _nested_query, _with, _empty,
)  # fmt: skip

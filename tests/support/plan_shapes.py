"""Random queries whose expressions are simple and whose plans are not: a seed always gives the same ones.

`random_queries` nests functions; this module nests plans, as ORMs and BI tools do: derived tables of which not all
columns are read, constants among keys and sort keys, aggregates that nobody reads, windows over aggregates, HAVING
without GROUP BY, DISTINCT, LIMIT below joins, set operations, LATERAL, outer joins on conditions with subqueries, and
EXISTS, IN, ANY and scalar subqueries in every place. LIMIT comes only with an ORDER BY of all columns, so that the answer
is a multiset on which PostgreSQL 15 must agree.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

TABLES: Final = (
    "create table a (i int, k int, x text, n numeric(8, 2), d date, b bool)",
    "insert into a values (1, 1, 'p', 1.5, '2024-01-01', true), (2, 1, 'q', 2.25, '2024-01-05', false),"
    " (3, 2, 'p', null, '2024-02-01', null), (4, null, null, -1, null, true), (5, 3, '', 0, '2023-12-31', false),"
    " (6, 2, 'r', 100.10, '2024-01-01', true)",
    "create table c (i int, k int, y text)",
    "insert into c values (1, 10, 'p'), (1, 20, 'z'), (2, null, 'q'), (null, 5, null), (9, 1, 'p')",
    "create table e (i int, x text)",
)
#: The types of expressions, and their literals.
_LITERALS: Final = {
    "int": ("1", "0", "-1", "2", "7", "null::int"),
    "text": ("'p'::text", "'q'::text", "''::text", "null::text"),
    "numeric": ("1.5", "0.00", "null::numeric"),
    "date": ("date '2024-01-01'", "null::date"),
    "bool": ("true", "false", "null::bool"),
}
_OFTEN: Final = ("int", "int", "text", "numeric", "date", "bool")
_RELATIONS: Final = (
    ("a", ("i int", "k int", "x text", "n numeric", "d date", "b bool")),
    ("a", ("i int", "k int", "x text", "n numeric", "d date", "b bool")),
    ("c", ("i int", "k int", "y text")),
    ("e", ("i int", "x text")),
    ("(values (1, 'p'::text), (2, null), (null, 'q'))", ("v int", "w text")),
    ("generate_series(1, 2)", ("g int",)),
)
_COMPARISONS: Final = ("=", "<>", "<", ">=", "is distinct from", "is not distinct from")
#: References to columns, with their types.
Scope = list[tuple[str, str]]


class Shapes:
    """Generates queries. depth: the maximum nesting depth of queries."""

    def __init__(self, seed: int, *, depth: int = 2) -> None:
        self._chance = random.Random(seed)
        self._depth = depth
        self._names = 0

    def query(self) -> str:
        self._names = 0
        return self._query(self._depth, [], self._types())

    # -- chance --------------------------------------------------------------------------------------------------

    def _is(self, share: float) -> bool:
        return self._chance.random() < share

    def _one(self, *choices: str) -> str:
        return self._chance.choice(choices)

    def _of(self, *makers: Callable[[], str]) -> str:
        return self._chance.choice(makers)()

    def _types(self) -> list[str]:
        return [self._one(*_OFTEN) for _ in range(self._chance.choice((1, 1, 2, 3)))]

    def _alias(self) -> str:
        self._names += 1
        return f"t{self._names}"

    # -- expressions ---------------------------------------------------------------------------------------------

    def _literal(self, typ: str) -> str:
        return self._one(*_LITERALS[typ])

    def _expression(self, typ: str, scope: Scope, depth: int, outer: Scope) -> str:
        """Return an expression over the columns of a query, and now and then over those of queries around it."""
        names = [name for name, own in (*scope, *(outer if self._is(0.3) else ())) if own == typ]
        if depth <= 0 or (names and self._is(0.55)):
            return self._one(*names) if names and self._is(0.85) else self._literal(typ)
        if self._is(0.15):
            return self._literal(typ)

        def of(wanted: str) -> str:
            return self._expression(wanted, scope, depth - 1, outer)

        if self._is(0.06):
            return f"(case when {of('bool')} then {of(typ)} else {of(typ)} end)"
        if self._is(0.06):
            return f"coalesce({of(typ)}, {of(typ)})"
        if self._is(0.05):
            return f"({self._scalar(typ, depth - 1, scope)})"
        return self._condition(scope, depth, of) if typ == "bool" else self._operation(typ, of)

    def _operation(self, typ: str, of: Callable[[str], str]) -> str:
        match typ:
            case "int":
                return self._of(
                    lambda: f"({of('int')} + {of('int')})",
                    lambda: f"({of('int')} * 2)",
                    lambda: f"length({of('text')})",
                    lambda: f"nullif({of('int')}, {of('int')})",
                    lambda: f"extract(day from {of('date')})::int",
                )
            case "text":
                return self._of(
                    lambda: f"({of('text')} || {of('text')})",
                    lambda: f"upper({of('text')})",
                    lambda: f"({of('int')})::text",
                    lambda: f"concat({of('text')}, {of('int')})",
                )
            case "numeric":
                return self._of(
                    lambda: f"({of('numeric')} + {of('numeric')})",
                    lambda: f"round({of('numeric')}, 1)",
                    lambda: f"({of('int')} * 1.5)",
                )
            case _:
                return self._of(
                    lambda: f"({of('date')} + {of('int')} % 100)",
                    lambda: f"date_trunc('month', {of('date')})::date",
                    lambda: f"greatest({of('date')}, {of('date')})",
                )

    def _condition(self, scope: Scope, depth: int, of: Callable[[str], str]) -> str:
        typ = self._one("int", "int", "text", "numeric", "date")

        def rows(types: list[str]) -> str:
            return self._query(depth - 1, scope, types)

        return self._of(
            lambda: f"({of(typ)} {self._one(*_COMPARISONS)} {of(typ)})",
            lambda: f"({of('bool')} {self._one('and', 'or')} {of('bool')})",
            lambda: f"(not {of('bool')})",
            lambda: f"({of(typ)} is null)",
            lambda: f"({of('int')} in ({of('int')}, {of('int')}, 3))",
            lambda: f"exists ({rows(self._types())})",
            lambda: f"({of(typ)} {self._one('in', 'not in')} ({rows([typ])}))",
            lambda: f"({of(typ)} {self._one('=', '<')} {self._one('any', 'all')} ({rows([typ])}))",
        )

    def _aggregate(self, typ: str, scope: Scope, depth: int, outer: Scope) -> str:
        def of(wanted: str) -> str:
            return self._expression(wanted, scope, depth - 1, outer)

        kept = f" filter (where {of('bool')})" if self._is(0.2) else ""
        distinct = self._one("", "", "distinct ")
        match typ:
            case "int":
                counted = self._of(
                    lambda: f"max({of('int')})",
                    lambda: f"count({distinct}{of(self._one('int', 'text', 'numeric'))})",
                    lambda: "count(*)",
                    lambda: f"sum({distinct}{of('int')})",
                )
                return f"({counted}{kept})::int" if kept else f"{counted}::int"
            case "text":
                value = of("text")
                return self._one(f"max({value})", f"min({value})", f"string_agg({value}, ',' order by {value})") + kept
            case "numeric":
                return f"{self._one('sum', 'max', 'min')}({distinct}{of('numeric')}){kept}"
            case "date":
                return f"{self._one('max', 'min')}({of('date')}){kept}"
            case _:
                return f"{self._one('bool_and', 'bool_or')}({of('bool')}){kept}"

    def _window(self, typ: str, scope: Scope, outer: Scope) -> str:
        def of(wanted: str) -> str:
            return self._expression(wanted, scope, 1, outer)

        ranked = typ == "int" and self._is(0.3)
        function = "dense_rank()" if ranked else f"{self._function(typ)}({of(typ)})"
        clauses = [f"partition by {of(self._one('int', 'text', 'bool'))}"] if self._is(0.6) else []
        if ranked or self._is(0.5):
            clauses.append(f"order by {of(self._one('int', 'text', 'date'))}")
        return f"({function} over ({' '.join(clauses)})){'::int' if typ == 'int' else ''}"

    def _function(self, typ: str) -> str:
        numbers = ("max", "sum", "count") if typ == "int" else ("sum", "max") if typ == "numeric" else ("max", "min")
        return self._one(*(("bool_or",) if typ == "bool" else numbers))

    def _scalar(self, typ: str, depth: int, outer: Scope) -> str:
        """Return a query of one row, whatever its relations have."""
        if self._is(0.6):
            source, scope = self._from(depth, outer)
            return f"select {self._aggregate(typ, scope, depth, outer)} from {source}{self._where(scope, depth, outer)}"
        function = "bool_or" if typ == "bool" else "max"
        return f"select {function}(z.o0) from ({self._query(depth, outer, [typ])}) as z"

    # -- queries -------------------------------------------------------------------------------------------------

    def _query(self, depth: int, outer: Scope, types: list[str]) -> str:
        if depth > 0 and self._is(0.12):
            sides = [self._query(depth - 1, outer, types) for _ in range(2)]
            word = self._one("union", "union all", "intersect", "except", "intersect all", "except all")
            return f"({sides[0]}) {word} ({sides[1]})"
        source, scope = self._from(depth, outer)
        where, tail = self._where(scope, depth, outer), ""
        kind = self._chance.random()
        if kind < 0.18:
            emit, tail = self._total(types, scope, depth, outer)
        elif kind < 0.42:
            emit, tail = self._grouped(types, scope, depth, outer)
        elif kind < 0.58:
            emit = [
                self._window(typ, scope, outer) if self._is(0.6) else self._expression(typ, scope, depth, outer)
                for typ in types
            ]
        else:
            emit = [self._expression(typ, scope, depth, outer) for typ in types]
        named = ", ".join(f"{expression} as o{number}" for number, expression in enumerate(emit))
        distinct = "distinct " if self._is(0.12) else ""
        return f"select {distinct}{named} from {source}{where}{tail}{self._order(len(emit))}"

    def _order(self, width: int) -> str:
        if not self._is(0.25):
            return ""
        keys = ", ".join(f"{n} {self._one('asc', 'desc', 'asc nulls first')}" for n in range(1, width + 1))
        limit = f" limit {self._one('0', '1', '2', '5')}{self._one('', ' offset 1')}" if self._is(0.5) else ""
        return f" order by {keys}{limit}"

    def _where(self, scope: Scope, depth: int, outer: Scope) -> str:
        return f" where {self._expression('bool', scope, depth, outer)}" if self._is(0.4) else ""

    def _having(self, scope: Scope, depth: int, outer: Scope) -> str:
        if not self._is(0.25):
            return ""
        return f" having {self._aggregate('int', scope, depth, outer)} > {self._literal('int')}"

    def _total(self, types: Sequence[str], scope: Scope, depth: int, outer: Scope) -> tuple[list[str], str]:
        """Return a select list of aggregates and constants, at least one aggregate, and the clauses after WHERE."""
        emit = [
            self._aggregate(typ, scope, depth, outer) if number == 0 or self._is(0.7) else self._literal(typ)
            for number, typ in enumerate(types)
        ]
        return emit, self._having(scope, depth, outer)

    def _grouped(self, types: Sequence[str], scope: Scope, depth: int, outer: Scope) -> tuple[list[str], str]:
        """Return a select list of keys, aggregates and constants, and the clauses after WHERE."""
        keys = dict(self._chance.choice(scope) for _ in range(self._chance.choice((1, 1, 2))))
        emit = []
        for typ in types:
            own = [key for key, of in keys.items() if of == typ]
            if own and self._is(0.6):
                emit.append(self._one(*own))
            else:
                emit.append(self._aggregate(typ, scope, depth, outer) if self._is(0.85) else self._literal(typ))
        listed = ", ".join(keys)
        sets = self._one(listed, listed, listed, f"rollup ({listed})", f"grouping sets (({listed}), ())")
        return emit, f" group by {sets}{self._having(scope, depth, outer)}"

    def _from(self, depth: int, outer: Scope) -> tuple[str, Scope]:
        source, scope = self._relation(depth)
        for _ in range(self._chance.choice((0, 0, 1, 1, 2))):
            if self._is(0.15):
                more, own = self._derived(depth - 1, scope)
                join = self._one("left join lateral {} on true", "cross join lateral {}").format(more)
            else:
                more, own = self._relation(depth)
                join = self._join(more, scope, own, depth, outer)
            source, scope = f"{source} {join}", scope + own
        return source, scope

    def _join(self, more: str, scope: Scope, own: Scope, depth: int, outer: Scope) -> str:
        word = self._one("join", "join", "left join", "left join", "right join", "cross join", "full join")
        if word == "cross join":
            return f"cross join {more}"
        sides = [[name for name, typ in part if typ == "int"] for part in (scope, own)]
        if all(sides) and (word == "full join" or self._is(0.6)):
            test = f"{self._one(*sides[0])} = {self._one(*sides[1])}"
        elif word == "full join":
            return f"cross join {more}"
        else:
            test = self._expression("bool", scope + own, min(depth, 1), outer)
        return f"{word} {more} on {test}"

    def _relation(self, depth: int) -> tuple[str, Scope]:
        if depth > 0 and self._is(0.3):
            return self._derived(depth - 1, [])
        name, columns = self._chance.choice(_RELATIONS)
        alias = self._alias()
        pairs = [column.split() for column in columns]
        return f"{name} as {alias} ({', '.join(c for c, _ in pairs)})", [(f"{alias}.{c}", typ) for c, typ in pairs]

    def _derived(self, depth: int, outer: Scope) -> tuple[str, Scope]:
        types, alias = self._types(), self._alias()
        names = [f"c{number}" for number in range(len(types))]
        text = f"({self._query(depth, outer, types)}) as {alias} ({', '.join(names)})"
        return text, [(f"{alias}.{name}", typ) for name, typ in zip(names, types, strict=True)]

"""Typed random queries, in the manner of sqlsmith; a seed always gives the same ones.

An expression is generated for a type. It is a column, a literal, or a row of the function table that returns the type,
whose arguments are generated in turn. So every function, operator and cast of the function table occurs without further
work, and a new row of the table too. Queries have joins, LATERAL, subqueries in every place, WITH, windows, grouping
sets, set operations, VALUES and set-returning functions. LIMIT comes only with an ORDER BY of all columns, so that the
answer is a multiset on which PostgreSQL 15 must agree.

These are left out: functions whose answers depend on the user or the time, text forms of numerics and of floats (their
printed digits differ on purpose, docs/compatibility.md), and with `exact` all floats, for comparisons that allow no
difference in the last digit.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.plan_ir.expr import Function
from engine.sql.functions.registry import CALLABLE, registry
from wire.types import pg_types as t

TABLES: Final = (
    "create table r (i int, s smallint, l bigint, n numeric(10, 2), f float8, x text, v varchar(8), b bool, d date,"
    " ts timestamp, tz timestamptz, iv interval, tm time, j jsonb, ia int[], xa text[], u uuid, y bytea)",
    "create table q (i int, x text, d date, n numeric(6, 3), b bool, l bigint)",
    "create table e (i int, x text)",
    """insert into r values
    (1, 1, 10, 1.50, 0.5, 'abc', 'Abc', true, '2024-01-01', '2024-01-01 10:00', '2024-01-01 10:00+00', '1 day',
     '10:00', '{"a": 1}',
     '{1,2,3}', '{a,b}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\x01ff'),
    (2, -5, 9000000000, -0.01, -2.25, '', '', false, '1999-12-31', '1999-12-31 23:59:59.999999',
     '2020-06-01 00:00+02', '-1 mon 3 days',
     '00:00', '[1, 2, null]', '{}', '{}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', '\\x'),
    (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    (3, 32767, -9223372036854775808, 99999999.99, 1024, 'a%c_', 'x y', null, '0001-01-01', null, 'infinity',
     '02:03:04.5', '23:59:59',
     '"s"', '{NULL,7}', '{NULL,"q r"}', null, '\\x616263'),
    (0, 0, 0, 0, 0, '日x€', '日x', true, '2024-02-29', '-infinity', '1970-01-01 00:00+00', '0', null, 'null',
     '{0}', '{""}', null, null),
    (-2147483648, -32768, 9223372036854775807, -99999999.99, -0.0, '12', '-3', false, '2024-12-31', '2024-03-31 02:30',
     '2024-03-31 02:30+00', '1 year 2 mons -3 days 04:05:06', '12:34:56.789', '{"a": {"b": [1, "x"]},
     "c": null}', '{1,1}', '{a,a}',
     'ffffffff-ffff-ffff-ffff-ffffffffffff', '\\x00'),
    (1, 2, 3, 1.50, 2, 'abc', 'abc', true, '2024-01-01', '2024-01-01 10:00', null, '24:00:00', '10:00',
     '{"a": 1}', '{1,2,3}', '{b,a}',
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\x01ff')""",
    """insert into q values (1, 'abc', '2024-01-01', 1.5, true, 10), (2, 'x', null, -2.125, false, 2), (null,
     null, '1999-12-31', null, null,
     null), (1, '', '2024-02-29', 0, null, -1), (7, 'A', '2024-01-01', 999.999, true, 7)""",
)  # fmt: skip

_RELATIONS: Final = {
    "r": "i int4 s int2 l int8 n numeric f float8 x text v varchar b bool d date ts timestamp tz timestamptz iv interval tm time"
    " j jsonb ia _int4 xa _text u uuid y bytea",
    "q": "i int4 x text d date n numeric b bool l int8",
    "e": "i int4 x text",
}
_LITERALS: Final = {
    "int2": "0;1;-1;7;32767;-32768",
    "int4": "0;1;-1;2;3;10;100;2147483647;-2147483648",
    "int8": "0;1;-1;5;1000000007;9223372036854775807",
    "numeric": "0;1.5;-0.25;100.00;3;0.001",
    "float8": "0;0.5;-1.5;3;1024",
    "float4": "0;0.5;-1.5;3",
    "text": "'abc';'';'a';'B';'a%';'€';'12';'%b_';'a,b,c';'x y'",
    "varchar": "'abc';'';'Q'",
    "bpchar": "'abc';'';'Q '",
    "bool": "true;false",
    "date": "'2024-01-01';'1999-12-31';'2024-02-29';'infinity'",
    "timestamp": "'2024-01-01 10:00';'1999-12-31 23:59:59.5';'infinity'",
    "timestamptz": "'2024-01-01 10:00+02';'1969-07-20 20:17:40+00'",
    "time": "'10:00';'00:00:00.5';'24:00'",
    "timetz": "'10:00+02';'00:00-05:30'",
    "interval": "'1 day';'-2 mons';'00:00:01.5';'1 year -3 days';'0'",
    "uuid": "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    "bytea": r"'\x00ff';'\x';'\x616263'",
    "jsonb": """'{"a":1}';'[1,"x",null]';'3';'null';'{"a":{"b":2}}'""",
    "json": """'{"a":1}';'[1,"x",null]';'3'""",
    "_int4": "'{1,2}';'{}';'{NULL,3}'",
    "_text": """'{a,b}';'{}';'{NULL,""}'""",
    "_int8": "'{1,2}';'{}'",
    "int4range": "'[1,5)';'empty';'(,3]'",
    "daterange": "'[2024-01-01,2024-03-01)';'empty'",
    "bit": "B'101'",
    "inet": "'10.0.0.1/8';'::1'",
    "money": "'1.50';'-3'",
    "oid": "0;26",
}
#: Arguments that have to be constants here (docs/compatibility.md), or of which few mean something: by name and place.
_PATTERNS: Final = ("'b'", "'^a'", "'[a-c]+'", "'.'", "'(a)(b)'", "'\\d'", "'x|'")
_FLAGS: Final = ("'g'", "'i'", "''")
_CONSTANTS: Final[dict[str, dict[int, tuple[str, ...]]]] = {
    **{name: {1: _PATTERNS} for name in ("~", "~*", "!~", "!~*")},
    **{
        name: {1: _PATTERNS, last: _FLAGS}
        for name, last in {"regexp_match": 2, "regexp_split_to_array": 2, "regexp_replace": 3,
     "regexp_matches": 2}.items()
    },
    **{name: {1: _PATTERNS, last: ("'i'", "''")} for name, last in
       {"regexp_like": 2, "regexp_count": 3, "regexp_instr": 5, "regexp_substr": 4,
     "regexp_split_to_table": 2}.items()},
    "like_escape": {1: ("'!'", "''")},
    "encode": {1: ("'hex'", "'base64'", "'escape'")},
    "decode": {0: ("'00ff'", "'6162'"), 1: ("'hex'",)},
    "to_date": {0: ("'2024-03-05'", "'1999-1-1'"), 1: ("'YYYY-MM-DD'",)},
    "to_timestamp": {0: ("'2024-03-05 10:11'", "'1999-1-1 1:2'"), 1: ("'YYYY-MM-DD HH24:MI'",)},
    "to_number": {0: ("'12.5'", "'-7'"), 1: ("'99.9'", "'999MI'")},
    "timezone": {0: ("'UTC'", "'Europe/Berlin'", "'Asia/Kolkata'")},
    "date_trunc": {0: ("'month'", "'day'", "'hour'", "'week'", "'year'", "'quarter'", "'second'"), 2: ("'Europe/Berlin'",)},
    "date_part": {0: ("'month'", "'day'", "'hour'", "'dow'", "'year'", "'week'", "'epoch'", "'second'")},
    "date_bin": {0: ("interval '15 minutes'", "interval '1 day'")},
    "make_date": {0: ("2024", "1999", "-1"), 1: ("2", "12"), 2: ("1", "28")},
    "make_time": {0: ("0", "23"), 1: ("0", "59"), 2: ("0", "59.5")},
    "make_timestamp": {0: ("2024", "1999"), 1: ("2", "12"), 2: ("1", "28"), 3: ("0", "23"), 4: ("0", "59"), 5: ("0", "1.5")},
    "chr": {0: ("65", "97", "8364")},
    "get_byte": {1: ("0",)},
    "split_part": {1: ("','", "' '", "''"), 2: ("1", "2", "-1")},
    "jsonb_set": {1: ("'{a}'", "'{a,b}'", "'{1}'")},
    "jsonb_insert": {1: ("'{z}'", "'{1}'")},
    "#-": {1: ("'{a}'", "'{1}'", "'{a,b}'")},
    "width_bucket": {1: ("0",), 2: ("10", "5"), 3: ("5",)},
    "set_masklen": {1: ("8", "16")},
}  # fmt: skip
_SPELLED: Final = {"_int4": "int4[]", "_text": "text[]", "_int8": "int8[]", "bit": "bit(3)"}
_COLUMN_TYPES: Final = ("int4", "int8", "numeric", "text", "bool", "date", "timestamp", "timestamptz", "interval", "jsonb", "_int4",
                        "_text", "float8", "varchar", "int2", "time", "bytea", "uuid")  # fmt: skip
_FLOATS: Final = frozenset({"float4", "float8"})
_ELEMENTS: Final = ("int4", "text")
_LEFT_OUT: Final = frozenset({
    "random", "clock_timestamp", "gen_random_uuid", "_pg_expandarray", "=aclexplode", "=unknown_setting", "pg_sleep", "nextval",
    "lastval", "setval", "currval", "set_config", "current_setting", "subscript", "slice", "greatest", "least", "overlaps",
    "json_each", "jsonb_each", "json_each_text", "jsonb_each_text", "repeat", "lpad", "rpad", "mode", "percentile_cont",
    "percentile_disc", "array_fill", "generate_series", "power", "pow", "^", "exp", "factorial", "to_char", "to_json", "to_jsonb",
    "=set_element", "=set_slice", "subscripts", "slices",
    "=set_member", "row_to_json", "array_to_json", "like",
    "notlike", "json_build_array", "json_build_object", "jsonb_build_array", "jsonb_build_object", "format", "concat", "concat_ws",
    "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "format_type", "lcm", "gcd", "scale", "min_scale",
    "trim_scale", "log", "ln", "log10", "sqrt", "|/", "||/", "array_agg", "string_agg",
    "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "xmlagg", "version",
})  # fmt: skip
_LEFT_OUT_PREFIXES: Final = (
    "pg_",
    "has_",
    "to_reg",
    "row_security",
    "shobj",
    "col_desc",
    "obj_desc",
    "current_",
    "enum_",
    "inet_same",
)
#: Types of which a text depends on digits that differ on purpose.
_DIGITS: Final = frozenset({"numeric", "float4", "float8"})


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass
class Scope:
    """The columns that an expression may refer to. grouped: the keys of a grouped query, for expressions outside of
    aggregates.
    """

    columns: list[Column] = field(default_factory=list)
    outer: Scope | None = None
    grouped: list[Column] | None = None
    windows: bool = False

    def named(self, typ: str) -> list[str]:
        here = self.columns if self.grouped is None else self.grouped
        found = [column.name for column in here if column.type == typ]
        return found or (self.outer.named(typ) if self.outer is not None else [])


def _usable(row: Function) -> bool:
    names = [a.name for a in row.args]
    return (
        row.volatility != "volatile"
        and not (row.name == "age" and len(row.args) == 1)
        and row.local is not None
        and row.name not in _LEFT_OUT
        and not row.name.startswith(_LEFT_OUT_PREFIXES)
        and not row.variadic
        and not (row.kind == "cast" and row.args[0] is t.TEXT and row.returns not in (t.VARCHAR, t.BPCHAR))
        and not (
            row.kind == "cast" and _DIGITS & set(names) and row.returns.name not in (*_DIGITS, "int4", "int8", "int2")
        )
        and all(name in _LITERALS or name in _POLYMORPHIC for name in names)
    )


_POLYMORPHIC: Final = frozenset(
    {"anyelement", "anyarray", "anynonarray", "anycompatible", "anycompatiblearray", "anycompatiblenonarray"}
)


@dataclass(frozen=True)
class Producer:
    """A row of the function table with its polymorphic types resolved."""

    row: Function
    args: tuple[str, ...]


def _definite(row: Function) -> list[tuple[str, Producer]]:
    names = [a.name for a in row.args]
    if not _POLYMORPHIC & {*names, row.returns.name}:
        return [(row.returns.name, Producer(row, tuple(names)))]
    made = []
    for element in _ELEMENTS:
        typed = tuple(_of_element(name, element) for name in names)
        made.append((_of_element(row.returns.name, element), Producer(row, typed)))
    return made


def _of_element(name: str, element: str) -> str:
    if name not in _POLYMORPHIC:
        return name
    return "_" + element if name.endswith("array") and "nonarray" not in name else element


def _producers(exact: bool) -> dict[str, dict[str, list[Producer]]]:
    """Return the producers by kind and type of the result."""
    found: dict[str, dict[str, list[Producer]]] = defaultdict(lambda: defaultdict(list))
    for row in filter(_usable, registry().rows):
        for returns, producer in _definite(row):
            if not (exact and _FLOATS & {returns, *producer.args}):
                found["set" if row.returns_set else row.kind][returns].append(producer)
    return found


class Queries:
    """Generates queries. depth: the maximum nesting depth of expressions and queries. exact: leaves out floats."""

    def __init__(self, seed: int, *, depth: int = 3, exact: bool = False) -> None:
        self._chance = random.Random(seed)
        self._depth = depth
        self._names = 0
        self._rows = _producers(exact)
        self._types = [name for name in _COLUMN_TYPES if not (exact and name in _FLOATS)]

    # -- queries -------------------------------------------------------------------------------------------------

    def query(self) -> str:
        self._names = 0
        text, _ = self._query(None, self._depth)
        return text

    def predicate_over(self) -> tuple[str, str]:
        """Generate a FROM clause and a predicate over it, for oracles that combine the two in several ways."""
        self._names = 0
        scope = Scope()
        source = self._from(scope, self._depth)
        return source, self.expression("bool", scope, self._depth)

    def _one_of(self, *choices: tuple[float, Callable[[], str]]) -> str:
        return self._chance.choices([made for _, made in choices], [weight for weight, _ in choices])[0]()

    def _maybe(self, likelihood: float) -> bool:
        return self._chance.random() < likelihood

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _some_types(self) -> list[str]:
        return [self._chance.choice(self._types) for _ in range(self._chance.randint(1, 3))]

    def _query(self, outer: Scope | None, depth: int, types: Sequence[str] | None = None) -> tuple[str, list[str]]:
        """Generate a query. Returns it with its columns' types; the columns are named c1, c2 ..."""
        types = list(types or self._some_types())
        if depth > 1 and self._maybe(0.12):
            return self._with(outer, depth, types), types
        # Of intervals that are equal and look different, which one stays is nobody's promise.
        if depth > 1 and self._maybe(0.15) and not {"json", "jsonb", "interval"} & set(types):
            word = self._chance.choice(("union", "union all", "intersect", "except", "except all", "intersect all"))
            left, _ = self._query(outer, depth - 1, types)
            right, _ = self._query(outer, depth - 1, types)
            return f"({left}) {word} ({right}){self._order(types)}", types
        if self._maybe(0.06):
            scope = Scope(outer=outer)
            rows = [
                ", ".join(self.expression(typ, scope, 0) for typ in types) for _ in range(self._chance.randint(1, 3))
            ]
            names = ", ".join(f"c{number}" for number in range(1, len(types) + 1))
            return f"select * from (values {', '.join(f'({row})' for row in rows)}) as w({names})", types
        return self._select(outer, depth, types), types

    def _with(self, outer: Scope | None, depth: int, types: list[str]) -> str:
        name = self._name("w")
        inner, inner_types = self._query(None, depth - 1)
        materialized = self._chance.choice(("", "", "materialized ", "not materialized "))
        scope = Scope(outer=outer)
        alias = self._name("t")
        scope.columns += [Column(f"{alias}.c{n}", typ) for n, typ in enumerate(inner_types, 1)]
        source = f"{name} as {alias}"
        if self._maybe(0.4):
            other = self._name("t")
            scope.columns += [Column(f"{other}.c{n}", typ) for n, typ in enumerate(inner_types, 1)]
            join, condition = self._chance.choice(("join", "left join")), self.expression("bool", scope, 1)
            source += f" {join} {name} as {other} on {condition}"
        return f"with {name} as {materialized}({inner}) " + self._block(scope, source, depth, types)

    def _select(self, outer: Scope | None, depth: int, types: list[str]) -> str:
        scope = Scope(outer=outer)
        source = self._from(scope, depth)
        return self._block(scope, source, depth, types)

    def _block(self, scope: Scope, source: str, depth: int, types: list[str]) -> str:
        where = f" where {self.expression('bool', scope, depth)}" if self._maybe(0.5) else ""
        group = ""
        if self._maybe(0.25):
            group = self._group(scope, depth)
        elif self._maybe(0.2):
            scope.windows = True
        items = ", ".join(f"{self.expression(typ, scope, depth)} as c{n}" for n, typ in enumerate(types, 1))
        scope.windows = False
        comparable = not {"json", "jsonb"} & set(types)
        distinct = "distinct " if comparable and self._maybe(0.12) else ""
        having = f" having {self.expression('bool', scope, depth - 1)}" if group and self._maybe(0.3) else ""
        order = self._order(types) if comparable else ""
        return f"select {distinct}{items} from {source}{where}{group}{having}{order}"

    def _order(self, types: Sequence[str]) -> str:
        if self._maybe(0.8):
            return ""
        keys = [
            f"{n}{self._chance.choice(('', ' desc', ' nulls first', ' desc nulls last'))}"
            for n in range(1, len(types) + 1)
        ]
        limit = f" limit {self._chance.randint(0, 5)}" if self._maybe(0.5) else ""
        offset = f" offset {self._chance.randint(0, 3)}" if self._maybe(0.3) else ""
        return f" order by {', '.join(keys)}{limit}{offset}"

    def _group(self, scope: Scope, depth: int) -> str:
        """Generate a GROUP BY of columns, and make the scope a grouped one."""
        fit = [column for column in scope.columns if column.type != "json"]
        keys = self._chance.sample(fit, min(len(fit), self._chance.randint(0, 3)))
        scope.grouped = keys
        names = [key.name for key in keys]
        if not names:
            return self._chance.choice(("", " group by ()"))
        if self._maybe(0.7):
            return f" group by {', '.join(names)}"
        form = self._chance.choice(("rollup", "cube", "grouping sets"))
        listed = ", ".join(names)
        return (
            f" group by grouping sets (({listed}), ({names[0]}), ())"
            if form == "grouping sets"
            else f" group by {form} ({listed})"
        )

    # -- FROM ----------------------------------------------------------------------------------------------------

    def _from(self, scope: Scope, depth: int) -> str:
        source = self._item(scope, depth, lateral=False)
        for _ in range(self._chance.choices((0, 1, 2), (6, 3, 1))[0] if depth > 0 else 0):
            source += self._join(scope, depth - 1)
        return source

    def _join(self, scope: Scope, depth: int) -> str:
        kind = self._chance.choice(("join", "left join", "cross join", "right join", "full join", ","))
        before = list(scope.columns)
        lateral = kind in ("join", "left join", "cross join", ",") and self._maybe(0.25)
        item = self._item(scope, depth, lateral=lateral)
        if kind in ("cross join", ","):
            # A comma would bind less tightly than a JOIN that follows.
            return f" cross join {item}"
        new = [column for column in scope.columns if column not in before]
        pairs = [(a, b) for a in before for b in new if a.type == b.type and a.type not in ("json", "float8")]
        if kind == "full join" or (pairs and self._maybe(0.7)):
            if not pairs:
                return f" left join {item} on true"
            left, right = self._chance.choice(pairs)
            return f" {kind} {item} on {left.name} = {right.name}"
        return f" {kind} {item} on {self.expression('bool', scope, depth)}"

    def _item(self, scope: Scope, depth: int, *, lateral: bool) -> str:
        alias = self._name("t")
        if depth > 0 and self._maybe(0.2 if not lateral else 0.7):
            outer = Scope(list(scope.columns), scope.outer) if lateral else scope.outer
            text, types = self._query(outer, depth - 1)
            scope.columns += [Column(f"{alias}.c{n}", typ) for n, typ in enumerate(types, 1)]
            return f"{'lateral ' if lateral else ''}({text}) as {alias}"
        if self._maybe(0.08):
            scope.columns.append(Column(f"{alias}.g", "int4"))
            return f"generate_series({self._chance.randint(-2, 2)}, {self._chance.randint(0, 4)}) as {alias}(g)"
        if self._maybe(0.08):
            scope.columns.append(Column(f"{alias}.g", "int4"))
            inside = scope if lateral else Scope(outer=scope.outer)
            return f"unnest({self.expression('_int4', inside, depth)}) as {alias}(g)"
        table = self._chance.choice(("r", "r", "r", "q", "q", "e"))
        words = _RELATIONS[table].split()
        pairs = zip(words[::2], words[1::2], strict=True)
        scope.columns += [Column(f"{alias}.{name}", typ) for name, typ in pairs if typ in self._types]
        return f"{table} as {alias}"

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self, typ: str, scope: Scope, depth: int) -> str:
        """Generate an expression of a type, in parentheses where needed."""
        if scope.grouped is not None and depth > 0 and self._maybe(0.5):
            made = self._aggregate(typ, scope, depth)
            if made is not None:
                return made
        if scope.windows and depth > 0 and self._maybe(0.4):
            made = self._window(typ, scope, depth)
            if made is not None:
                return made
        if depth <= 0 or self._maybe(0.15):
            return self._leaf(typ, scope)
        choices: list[tuple[float, Callable[[], str]]] = [
            (1.0, lambda: self._leaf(typ, scope)),
            (5.0, lambda: self._call(typ, scope, depth)),
            (0.7, lambda: self._case(typ, scope, depth)),
            (0.5, lambda: f"coalesce({self._several(typ, scope, depth)})"),
            (0.3, lambda: self._scalar_subquery(typ, scope, depth)),
        ]
        if typ not in ("json", "jsonb", "bytea", "uuid"):
            choices.append(
                (0.3, lambda: f"{self._chance.choice(('greatest', 'least'))}({self._several(typ, scope, depth)})")
            )
        if typ not in ("json",):
            choices.append((0.3, lambda: f"nullif({self._several(typ, scope, depth, 2)})"))
        if typ in ("_int4", "_text"):
            element = typ[1:]
            choices.append((1.0, lambda: f"array[{self._several(element, scope, depth)}]"))
        if typ in ("int4", "text"):
            choices.append(
                (0.4, lambda: f"({self._inner(f'_{typ}', scope, depth)})[{self._inner('int4', scope, depth)}]")
            )
        if typ == "bool":
            choices.append((6.0, lambda: self._predicate(scope, depth)))
        return self._one_of(*choices)

    def _inner(self, typ: str, scope: Scope, depth: int) -> str:
        return self.expression(typ, scope, depth - 1)

    def _several(self, typ: str, scope: Scope, depth: int, count: int | None = None) -> str:
        return ", ".join(self._inner(typ, scope, depth) for _ in range(count or self._chance.randint(1, 3)))

    def _leaf(self, typ: str, scope: Scope) -> str:
        named = scope.named(typ)
        if named and self._maybe(0.75):
            return self._chance.choice(named)
        if self._maybe(0.08) or typ not in _LITERALS:
            return f"null::{_SPELLED.get(typ, typ)}"
        return self._literal(typ)

    def _literal(self, typ: str) -> str:
        text = self._chance.choice(_LITERALS[typ].split(";"))
        if typ in ("bool",) or text.startswith("B'"):
            return text
        return f"({text}::{_SPELLED.get(typ, typ)})" if text[0] != "-" else f"(({text})::{_SPELLED.get(typ, typ)})"

    def _call(self, typ: str, scope: Scope, depth: int) -> str:
        kinds = [kind for kind in ("function", "operator", "cast") if self._rows[kind].get(typ)]
        if not kinds:
            return self._leaf(typ, scope)
        weights = [{"function": 3, "operator": 3, "cast": 1.5}[kind] for kind in kinds]
        kind = self._chance.choices(kinds, weights)[0]
        producer = self._chance.choice(self._rows[kind][typ])
        dropped = self._chance.randint(0, producer.row.optional) if producer.row.optional else 0
        args = self._arguments(producer, len(producer.args) - dropped, scope, depth)
        return _applied(producer.row, args, typ)

    def _arguments(self, producer: Producer, count: int, scope: Scope, depth: int) -> list[str]:
        constants = _CONSTANTS.get(producer.row.name, {})
        return [
            self._chance.choice(constants[place]) if place in constants else self._inner(arg, scope, depth)
            for place, arg in enumerate(producer.args[:count])
        ]

    def _aggregate(self, typ: str, scope: Scope, depth: int) -> str | None:
        found = self._rows["aggregate"].get(typ)
        if not found:
            return None
        producer = self._chance.choice(found)
        inside = Scope(scope.columns, scope.outer)
        if typ in ("text", "_int4", "_text") and self._maybe(0.4):
            value = self._inner(typ.removeprefix("_"), inside, depth)
            return (
                f"string_agg({value}, ',' order by {value})"
                if typ == "text"
                else f"array_agg({value} order by {value})"
            )
        args = [self._inner(arg, inside, depth) for arg in producer.args]
        distinct = "distinct " if len(args) == 1 and producer.args[0] != "json" and self._maybe(0.15) else ""
        only = f" filter (where {self._inner('bool', inside, depth)})" if self._maybe(0.15) else ""
        return f"{producer.row.name}({distinct}{', '.join(args) or '*'}){only}"

    def _window(self, typ: str, scope: Scope, depth: int) -> str | None:
        ranked = {"int8": ("rank()", "dense_rank()")}.get(typ, ())
        found = self._rows["aggregate"].get(typ, [])
        if not ranked and not found:
            return None
        inside = Scope(scope.columns, scope.outer)
        if ranked and (not found or self._maybe(0.4)):
            call = self._chance.choice(ranked)
        else:
            producer = self._chance.choice(found)
            call = f"{producer.row.name}({', '.join(self._inner(arg, inside, depth) for arg in producer.args) or '*'})"
        over = ""
        if self._maybe(0.5):
            over = f"partition by {self._leaf(self._chance.choice(('int4', 'text', 'date', 'bool')), inside)} "
        over += f"order by {self._leaf(self._chance.choice(('int4', 'text', 'int8', 'date')), inside)}"
        return f"({call} over ({over}))"

    def _case(self, typ: str, scope: Scope, depth: int) -> str:
        arms = "".join(
            f" when {self._inner('bool', scope, depth)} then {self._inner(typ, scope, depth)}"
            for _ in range(self._chance.randint(1, 2))
        )
        other = f" else {self._inner(typ, scope, depth)}" if self._maybe(0.6) else ""
        return f"(case{arms}{other} end)"

    def _scalar_subquery(self, typ: str, scope: Scope, depth: int) -> str:
        """Generate a subquery that returns one row: an aggregate of a column, or a query without FROM."""
        inner = Scope(outer=_plain(scope))
        found = [
            p
            for p in self._rows["aggregate"].get(typ, [])
            if p.row.name in ("min", "max", "sum", "count", "bool_and", "bool_or")
        ]
        if not found:
            return f"(select {self.expression(typ, inner, depth - 1)})"
        source = self._item(inner, 0, lateral=False)
        inside = Scope(inner.columns, inner.outer)
        producer = self._chance.choice(found)
        args = ", ".join(self._leaf(arg, inside) for arg in producer.args) or "*"
        return f"(select {producer.row.name}({args}) from {source} where {self._inner('bool', inside, depth)})"

    def _predicate(self, scope: Scope, depth: int) -> str:
        def inner(typ: str) -> str:
            return self._inner(typ, scope, depth)

        typ = self._chance.choice(
            ("int4", "text", "int8", "date", "timestamp", "numeric", "bool", "varchar", "interval")
        )
        compared = self._chance.choice(("=", "<>", "<", "<=", ">", ">="))
        whether = self._chance.choice(("", "not "))
        return self._one_of(
            (3, lambda: f"({inner('bool')} {self._chance.choice(('and', 'or'))} {inner('bool')})"),
            (2, lambda: f"(not {inner('bool')})"),
            (3, lambda: f"({inner(typ)} {compared} {inner(typ)})"),
            (1, lambda: f"({inner(typ)} is {whether}null)"),
            (1, lambda: f"({inner(typ)} is {whether}distinct from {inner(typ)})"),
            (1, lambda: f"({inner(typ)} {whether}in ({self._several(typ, scope, depth)}))"),
            (1, lambda: f"({inner(typ)} {whether}between {inner(typ)} and {inner(typ)})"),
            (1, lambda: f"({inner('bool')} is {whether}{self._chance.choice(('true', 'false', 'unknown'))})"),
            (0.7, lambda: f"({inner('text')} {whether}{self._chance.choice(('like', 'ilike'))} {self._literal('text')})"),
            (0.7, lambda: f"({inner('int4')} {compared} {self._chance.choice(('any', 'all'))} ({inner('_int4')}))"),
            (0.5, lambda: f"(({inner('int4')}, {inner('text')}) {compared} ({inner('int4')}, {inner('text')}))"),
            (0.7, lambda: f"({whether}exists ({self._query(_plain(scope), depth - 1)[0]}))"),
            (0.7, lambda: f"({inner(typ)} {whether}in ({self._query(_plain(scope), depth - 1, [typ])[0]}))"),
            (0.3, lambda: f"({inner(typ)} {compared} {self._chance.choice(('any', 'all'))} "
                          f"({self._query(_plain(scope), depth - 1, [typ])[0]}))"),
        )  # fmt: skip


def _plain(scope: Scope) -> Scope:
    """Return the columns that a subquery may refer to in the query around it: only the keys if that one is grouped."""
    return Scope(scope.columns if scope.grouped is None else scope.grouped, scope.outer)


def _applied(row: Function, args: list[str], typ: str) -> str:
    if row.kind == "cast":
        return f"({args[0]})::{_SPELLED.get(typ, typ)}"
    if row.kind == "operator":
        return f"({args[0]} {row.name} {args[1]})" if len(args) == 2 else f"({row.name} {args[0]})"
    if row.name == "extract":
        return f"extract(year from {args[1]})"
    assert row.kind in CALLABLE
    if row.name in ("position", "overlay", "substring"):
        return f'pg_catalog."{row.name}"({", ".join(args)})'
    return f"{row.name}({', '.join(args)})"

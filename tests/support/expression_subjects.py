"""Expressions made from the function table: each function, operator, cast, aggregate and window function as a
`Subject`.

A subject is called with the columns `c0`, `c1` ... of a few rows, among which each argument is null alone in one row.
`support.expression_places` writes statements that have it in every place where an expression may stand.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from engine.plan_ir.expr import Function
from engine.sql.functions.registry import registry

Kind = Literal["scalar", "aggregate", "window", "equality"]

#: Two values of each type.
VALUES: Final = {
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
    "macaddr": ("'08:00:2b:01:02:03'", "'08:00:2b:01:02:04'"), "macaddr8": ("'08:00:2b:01:02:03:04:05'", "'::'"),
    "point": ("'(1,2)'", "'(3,4)'"), "box": ("'(1,1),(0,0)'", "'(3,3),(2,2)'"), "money": ("'12.34'", "'-1'"),
    "int4range": ("'[1,5)'", "'[3,9)'"), "int8range": ("'[1,5)'", "'[3,9)'"), "numrange": ("'[1,5)'", "'[3,9)'"),
    "daterange": ("'[2024-01-01,2024-02-01)'", "'empty'"), "tsrange": ("'[2024-01-01,2024-02-01)'", "'empty'"),
    "tstzrange": ("'[2024-01-01,2024-02-01)'", "'empty'"), "anyrange": ("'[1,5)'", "'[3,9)'"),
    "anymultirange": ("'{[1,5)}'", "'{[3,9),[20,30)}'"), "int4multirange": ("'{[1,5)}'", "'{}'"),
    "int8multirange": ("'{[1,5)}'", "'{}'"), "nummultirange": ("'{[1,5)}'", "'{}'"),
    "tsvector": ("'a b:1'", "'c'"), "tsquery": ("'a & b'", "'c'"), "jsonpath": ("'$.a'", "'$[*]'"),
    "oid": ("26", "0"), "char": ("'x'", "'y'"), "pg_lsn": ("'0/16'", "'1/0'"), "xid8": ("'7'", "'5'"), "xid": ("'7'", "'5'"),
    "_int4": ("'{1,2,null}'", "'{}'"), "_text": ("'{a,null,c}'", "'{}'"), "_float8": ("'{0.25,0.5}'", "'{1,0}'"),
    "anyarray": ("'{1,2,null}'", "'{}'"), "anyelement": ("3", "-2"), "anycompatible": ("3", "-2"), "any": ("3", "-2"),
    "anycompatiblearray": ("'{1,2,null}'", "'{}'"), "anynonarray": ("3", "-2"),
}  # fmt: skip
#: The type of a value's column, where it is not the type of that name. Numerics have one scale: others would gain or lose trailing
#: zeros.
TYPES: Final = {
    "anyarray": "int4[]", "anyelement": "int4", "anycompatible": "int4", "anycompatiblearray": "int4[]", "any": "int4",
    "anynonarray": "int4", "_int4": "int4[]", "_text": "text[]", "_float8": "float8[]", "bit": "bit(4)",
    "bpchar": "char(3)", "numeric": "numeric(6, 2)", "anyrange": "int4range", "anymultirange": "int4multirange",
    "char": '"char"',
}  # fmt: skip
#: Types with modifiers, each with the values that text has for a cast to it.
MODIFIED: Final = {
    "varchar(2)": "varchar", "char(4)": "bpchar", "char(2)": "bpchar", "numeric(4, 1)": "numeric", "numeric(12, 4)": "numeric",
    "timestamp(0)": "timestamp", "timestamptz(0)": "timestamptz", "time(1)": "time", "timetz(0)": "timetz",
    "interval(0)": "interval", "interval hour to minute": "interval", "bit(3)": "bit", "bit(6)": "bit", "varbit(2)": "varbit",
}  # fmt: skip
#: A type, two texts of equal values, and one of another value.
EQUAL: Final = (
    ("char(3)", "'ab '", "'ab'", "'b'"), ("bpchar", "'ab '", "'ab'", "'b'"), ("text", "'ab'", "'ab'", "'ab '"),
    ("interval", "'1 day'", "'24:00'", "'-1 day'"), ("interval", "'1 mon'", "'30 days'", "'29 days 25:00'"),
    ("numeric(8, 3)", "1.500", "1.5", "-1"), ("float8", "'0'", "'-0'", "'NaN'"), ("float4", "'0'", "'-0'", "'NaN'"),
    ("jsonb", "'1.0'", "'1.00'", """'"1"'"""), ("jsonb", """'{"a": 1.0, "b": 2}'""", """'{"b": 2, "a": 1}'""", "'{}'"),
    ("interval[]", "'{1 day}'", "'{24:00}'", "'{}'"), ("float8[]", "'{0,NaN}'", "'{-0,NaN}'", "'{1}'"),
    ("char(3)[]", """'{"ab "}'""", "'{ab}'", "'{b}'"), ("numeric(8, 2)[]", "'{1.50}'", "'{1.5}'", "'{2}'"),
    ("numrange", "'[1.0,2)'", "'[1.00,2)'", "'empty'"), ("int4range", "'[1,4]'", "'[1,5)'", "'empty'"),
    ("timestamptz", "'2024-01-01 12:00+00'", "'2024-01-01 13:00+01'", "'infinity'"),
    ("timetz", "'12:00+00'", "'13:00+01'", "'11:00-01'"), ("inet", "'10.0.0.1'", "'10.0.0.1/32'", "'10.0.0.1/24'"),
    ("bit(3)", "'101'", "'101'", "'100'"), ("money", "'1'", "'1.00'", "'2'"),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'a0eebc999c0b4ef8bb6d6bb9bd380a11'", f"'{'0' * 32}'"),
)  # fmt: skip
_STRINGS: Final = frozenset({"text", "varchar"})
_WITH_MAX: Final = frozenset(
    {"int2", "int4", "int8", "numeric", "float4", "float8", "money", "text", "varchar", "inet"}
    | {"date", "time", "timetz", "timestamp", "timestamptz", "interval"}
)
#: The binder's own names, what waits or has effects, and what is of the server and not of its arguments. PostgreSQL's cbrt differs
#: in the last digit.
_LEFT_OUT: Final = re.compile(
    r"=.*|subscript|slice|set_config|random|setseed|nextval|setval|pg_.*|.*lock.*|current_setting|lo_.*|has_.*|cbrt|\|\|/"
    r"|currval|lastval|txid_.*|row_security_active|col_description|obj_description|shobj_description|to_reg.*|.*xact.*"
)
_COLUMN: Final = re.compile(r"\bc(\d)\b")


@dataclass(frozen=True)
class Subject:
    """An expression over the columns `c0` ... of some rows.

    types: the types of the columns.
    first, second: literals, one for each column.
    has_max: whether `max` accepts each column.
    other: a third value, for subjects of the kind `equality`.
    result: the expression's type, where the function table declares it.
    """

    kind: Kind
    expression: str
    types: Sequence[str]
    first: Sequence[str]
    second: Sequence[str]
    has_max: bool = False
    other: str = "null"
    result: str = ""

    def over(self, name: str) -> str:
        """Return the expression over other operands than the columns. name: an operand, with `{}` in place of the
        column's number.
        """
        return _COLUMN.sub(lambda match: name.format(match[1]), self.expression)

    def of(self, operands: Sequence[str]) -> str:
        """Return the expression over one operand for each column."""
        return _COLUMN.sub(lambda match: operands[int(match[1])], self.expression)

    def of_relation(self, alias: str) -> str:
        """Return the expression over the columns of a relation, qualified with its alias."""
        return re.sub(r"\b(c\d|id)\b", rf"{alias}.\1", self.expression)

    @property
    def declared(self) -> str:
        """The columns as CREATE TABLE declares them."""
        return ", ".join(f"{column} {name}" for column, name in zip(self.columns, self.types, strict=True))

    @property
    def columns(self) -> list[str]:
        return [f"c{number}" for number in range(len(self.types))]

    def constants(self, values: Sequence[str]) -> list[str]:
        return [f"{value}::{name}" for value, name in zip(values, self.types, strict=True)]

    @property
    def lists(self) -> list[list[Sequence[str]]]:
        """Lists of rows for the columns. The second list is for functions that raise an error for the second value of a
        type.
        """
        nulls = [
            ["null" if place == at else value for place, value in enumerate(self.first)]
            for at in range(len(self.types))
        ]
        typed = self.constants(self.first)
        if self.kind == "equality":
            return [[typed, self.constants(self.second), *nulls, self.constants([self.other])]]
        return [[typed, self.second, *nulls], [typed, ["null"] * len(self.types)]]

    def relation(self, rows: Sequence[Sequence[str]], alias: str = "t") -> str:
        listed = ", ".join(f"({', '.join((str(number), *row))})" for number, row in enumerate(rows, 1))
        return f"(values {listed}) {alias}({', '.join(('id', *self.columns))})"


def function_subjects() -> list[Subject]:
    """Return the functions, the operators and the casts without a type modifier; each comes from one row of the
    function table.
    """
    return [
        _subject("scalar", _scalar(row), row)
        for row in registry().rows
        if _is_callable(row, ("function", "operator", "cast"))
    ]


def cast_subjects() -> list[Subject]:
    """Return a cast of each type to each type with a modifier. PostgreSQL decides which of them exist."""
    return [_cast(source, target) for source in VALUES for target in MODIFIED if not source.startswith("any")]


def aggregate_subjects() -> list[Subject]:
    """Return the aggregates, also those with WITHIN GROUP, plain and with DISTINCT."""
    rows = [row for row in registry().rows if _is_callable(row, ("aggregate", "ordered_set"))]
    plain = [_subject("aggregate", _aggregate(row, ""), row) for row in rows]
    single = [row for row in rows if row.kind == "aggregate" and len(row.args) == 1]
    return [*plain, *(_subject("aggregate", _aggregate(row, "distinct "), row) for row in single)]


def window_subjects() -> list[Subject]:
    """Return the window functions, and each aggregate as a window function."""
    rows = [
        row for row in registry().rows if row.kind == "window" and all(argument.name in VALUES for argument in row.args)
    ]
    over = "over (order by id rows between 1 preceding and current row)"
    aggregates = [subject for subject in aggregate_subjects() if "within group" not in subject.expression]
    framed = [
        Subject("window", f"{each.expression} {over}", each.types, each.first, each.second)
        for each in aggregates
        if "distinct" not in each.expression and "order by" not in each.expression
    ]
    return [*(_subject("window", f"{_call(row)} over (order by id)", row) for row in rows), *framed]


def nested_subjects(seed: int, count: int) -> list[Subject]:
    """Return nested expressions: a function, an aggregate or a window function of a function's result. A seed always
    gives the same ones.
    """
    chance = random.Random(seed)
    scalars = [subject for subject in function_subjects() if len(subject.types) < 3]
    windows = [subject for subject in window_subjects() if subject.types]
    outer = {"scalar": scalars, "aggregate": aggregate_subjects(), "window": windows}
    by_result = _by_result(scalars)
    found: list[Subject] = []
    while len(found) < count:
        taker = chance.choice(outer[chance.choice(("scalar", "scalar", "aggregate", "window"))])
        place = chance.randrange(len(taker.types))
        givers = by_result.get(taker.types[place], ())
        if givers:
            found.append(_nest(taker, place, chance.choice(givers)))
    return found


def _by_result(subjects: Sequence[Subject]) -> Mapping[str, Sequence[Subject]]:
    found: dict[str, list[Subject]] = {}
    for subject in subjects:
        found.setdefault(subject.result, []).append(subject)
    return found


def _nest(taker: Subject, place: int, giver: Subject) -> Subject:
    """Return the expression of `taker` with that of `giver` in place of one of its columns. The columns of `giver`
    follow those of `taker`, except its first, which takes the replaced column's number.
    """
    others = [f"c{number}" for number in range(len(taker.types), len(taker.types) + len(giver.types) - 1)]
    given = giver.of([f"c{place}", *others])
    columns = [f"({given})" if at == place else f"c{at}" for at in range(len(taker.types))]

    def joined(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
        return [theirs[0] if at == place else each for at, each in enumerate(ours)] + list(theirs[1:])

    return Subject(
        taker.kind, taker.of(columns), joined(taker.types, giver.types), joined(taker.first, giver.first),
        joined(taker.second, giver.second), taker.has_max and giver.has_max,
    )  # fmt: skip


def equality_subjects() -> list[Subject]:
    """Return columns whose first two values are equal, in each place that compares values or distinguishes them."""
    return [Subject("equality", "c0", [name], [first], [second], other=other) for name, first, second, other in EQUAL]


def _is_callable(row: Function, kinds: Sequence[str]) -> bool:
    named = row.args and len(row.args) <= 4 and all(argument.name in VALUES for argument in row.args)
    return bool(named) and row.kind in kinds and not row.returns_set and not _LEFT_OUT.fullmatch(row.name)


def _subject(kind: Kind, expression: str, row: Function) -> Subject:
    names = [argument.name for argument in row.args]
    values = [VALUES[row.returns.name] if row.kind == "cast" and name in _STRINGS and row.returns.name in VALUES else VALUES[name]
              for name in names]  # fmt: skip
    types = [TYPES.get(name, name) for name in names]
    first, second = ([each[which] for each in values] for which in (0, 1))
    result = "" if row.returns.name.startswith("any") else TYPES.get(row.returns.name, row.returns.name)
    return Subject(kind, expression, types, first, second, _WITH_MAX.issuperset(names), result=result)


def _cast(source: str, target: str) -> Subject:
    first, second = VALUES[MODIFIED[target]] if source in _STRINGS else VALUES[source]
    return Subject("scalar", f"(c0::{target})", [TYPES.get(source, source)], [first], [second], source in _WITH_MAX)


def _call(row: Function) -> str:
    return f"{row.name}({', '.join(f'c{number}' for number in range(len(row.args)))})"


def _scalar(row: Function) -> str:
    if row.kind == "cast":
        return f"(c0::{_target(row.returns.name)})"
    if row.kind == "operator":
        return f"(c0 {row.name} c1)" if len(row.args) == 2 else f"({row.name} c0)"
    return _call(row)


def _target(name: str) -> str:
    """Return the name of a cast's type, without a modifier."""
    return {"char": '"char"', "_text": "text[]"}.get(name, name)


def _aggregate(row: Function, distinct: str) -> str:
    if row.kind == "ordered_set":
        constants = {"_float8": "'{0.25,0.5}'::float8[]", "float8": "0.5::float8"}
        direct, ordered = ("", "c0") if len(row.args) == 1 else (constants[row.args[0].name], "c1")
        return f"{row.name}({direct}) within group (order by {ordered})"
    columns = ", ".join(f"c{number}" for number in range(len(row.args)))
    depends_on_order = row.name.startswith(("string_agg", "array_agg", "json")) and not distinct
    return f"{row.name}({distinct}{columns}{' order by id' if depends_on_order else ''})"

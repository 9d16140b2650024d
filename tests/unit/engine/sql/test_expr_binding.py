"""Bound expressions by shape: literals and their digits, folding, parameters, predicates rewritten."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from support.expression_ground import Ground, bind

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import (
    And,
    Const,
    ContextRef,
    Expr,
    InList,
    IsNull,
    Not,
    Or,
    ParamRef,
    Row,
    Subquery,
    SubqueryKind,
)
from engine.sql.binder.scope import ParameterTypes
from engine.sql.regex.patterns import like_escape, similar_to_escape
from wire.errors import AmbiguousParameter, FeatureNotSupported, IndeterminateDatatype, SqlError
from wire.types import pg_types as t
from wire.types.carriers import NumericScale
from wire.types.text_settings import InputSettings


def const(sql: str) -> Const:
    bound = bind(sql)
    assert isinstance(bound, Const), bound
    return bound


@pytest.mark.parametrize(
    ("sql", "typ", "value"),
    [
        ("1", "integer", 1),
        ("-2147483648", "integer", -2147483648),
        ("2147483648", "bigint", 2147483648),
        ("-9223372036854775808", "bigint", -9223372036854775808),
        ("9223372036854775808", "numeric", Decimal("9223372036854775808")),
        ("1.50", "numeric", Decimal("1.50")),
        ("1e3", "numeric", Decimal(1000)),
        ("1.5e-3", "numeric", Decimal("0.0015")),
        ("'x'", "text", "x"),
        ("null", "text", None),
        ("true", "boolean", True),
        ("date '1970-01-02'", "date", 1),
        ("'{1,null}'::int[]", "integer[]", [1, None]),
        ("array[1, 2.5]", "numeric[]", [Decimal(1), Decimal("2.5")]),
        ("array[[1, 2], [3, 4]]", "integer[]", [[1, 2], [3, 4]]),
        ("array[]::text[]", "text[]", []),
        ("12.345::numeric(10,1)", "numeric(10,1)", Decimal("12.3")),
        ("(-12.345)::numeric(10,2)", "numeric(10,2)", Decimal("-12.35")),
        ("1.5::int", "integer", 2),
        ("(-2.5)::int", "integer", -3),
        ("1::float8", "double precision", 1.0),
        ("'1.5'::text::numeric", "numeric", Decimal("1.5")),
        ("'abcdef'::varchar(3)", "character varying(3)", "abc"),
        ("'ab'::char(4)", "character(4)", "ab  "),
        ("'a'::char(4)::text", "text", "a"),
        ("5::text", "text", "5"),
        ("1.10::text", "text", "1.10"),
        ("true::text", "text", "true"),
        ("null::numeric(5,2)", "numeric(5,2)", None),
        ("cast(null as date)", "date", None),
        ("int4('12')", "integer", 12),
        ("pg_typeof(1.5)", "regtype", 1700),
        ("1e100::float8", "double precision", 1e100),
    ],
)
def test_constants(sql: str, typ: str, value: Any) -> None:
    bound = const(sql)
    assert str(bound.type) == typ
    assert bound.value == value


@pytest.mark.parametrize(
    ("sql", "precision", "scale", "display"),
    [
        ("1.50", 3, 2, NumericScale.FIXED),
        ("0.05", 2, 2, NumericScale.FIXED),
        ("1000000", 0, 0, NumericScale.FIXED),
        ("coalesce(n, 0)", 15, 2, NumericScale.FIXED),
        ("coalesce(1, 2.5)", 2, 1, NumericScale.TRIMMED),
        ("coalesce(1, 2.50)", 3, 2, NumericScale.FIXED),
        ("case when b then n else null end", 15, 2, NumericScale.FIXED),
        ("1 - n", 16, 2, NumericScale.FIXED),
        ("n * 2", 17, 2, NumericScale.FIXED),
        ("nua[1]", 10, 2, NumericScale.FIXED),
        ("$1::numeric", 38, 16, NumericScale.TRIMMED),
    ],
)
def test_digits(sql: str, precision: int, scale: int, display: NumericScale) -> None:
    typ = bind(sql).type
    assert (typ.precision, typ.scale, typ.display) == (precision, scale, display)


def test_a_numeric_constant_that_no_engine_holds_is_kept_and_not_computed_with() -> None:
    assert bind("1e100").type.is_wide
    with pytest.raises(FeatureNotSupported, match="more than 38 digits"):
        bind("1e100 + 1")


def parameters(sql: str, declared: tuple[int, ...] = ()) -> tuple[str, ...]:
    ground = Ground(declared)
    ground.bind(sql)
    return tuple(p.name for p in ground.parameters.finish())


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        ("$1", ("text",)),
        ("$1 + 1", ("int4",)),
        ("i8 + $1", ("int8",)),
        ("array[$1, 1.5]", ("numeric",)),
        ("coalesce($2, $1, 'x')", ("text", "text")),
        ("case when $1 then 1 end", ("bool",)),
        ("$1::numeric(10,2)", ("numeric",)),
        ("date $$2020-01-01$$ + $1::int", ("int4",)),
        ("$1 is null and $1", ("bool",)),
    ],
)
def test_parameter_types(sql: str, types: tuple[str, ...]) -> None:
    assert parameters(sql) == types


def test_a_parameter_has_one_type() -> None:
    with pytest.raises(AmbiguousParameter, match=r"inconsistent types deduced for parameter \$1") as caught:
        bind("array[$1, 'x'::text, ($1::int)::text]")
    assert caught.value.detail == "integer versus text"


def test_a_parameter_that_nothing_types_is_an_error() -> None:
    with pytest.raises(IndeterminateDatatype, match=r"could not determine data type of parameter \$1"):
        parameters("concat($1)")


def test_declared_parameters_keep_their_type() -> None:
    assert parameters("$1 + 1", (t.INT8.oid,)) == ("int8",)


def test_known_digits_of_a_parameter() -> None:
    ground = Ground()
    ground.context.parameters = ParameterTypes((t.NUMERIC.oid,), {1: (3, 2, 1)})
    bound = ground.bind("$1")
    assert isinstance(bound, ParamRef)
    assert bound.type == st.numeric(3, 2)


def test_relative_literals_are_not_for_the_cache() -> None:
    ground = Ground(settings=InputSettings(now=86_400_000_000))
    assert ground.context.stable
    assert isinstance(bound := ground.bind("date 'today'"), Const)
    assert bound.value == 1
    assert not ground.context.stable


def test_row_is_not_null_is_no_negation() -> None:
    assert isinstance(bind("(i4, i8) is not null"), And)
    assert isinstance(bind("not (i4, i8) is null"), Not)
    assert bind("i4 is not null") == IsNull(st.of(t.BOOL), bind("i4"), True)


def test_a_long_chain_of_conditions_is_flat() -> None:
    bound = bind(" or ".join(["b"] * 2000))
    assert isinstance(bound, Or)
    assert len(bound.args) == 2000


def test_positions_are_no_identity() -> None:
    assert bind("i4") == bind("      i4")
    assert bind("      i4").position == 13


def test_context_values() -> None:
    assert bind("now()") == ContextRef(st.of(t.TIMESTAMPTZ), "now")
    assert bind("current_user") == ContextRef(st.of(t.NAME), "current_user")


def test_rows_and_fields() -> None:
    assert isinstance(bind("row(1, tx)"), Row)
    assert bind("(row(1, tx)).f2") == bind("tx")


def test_a_row_has_at_most_1664_fields() -> None:
    """The message is PostgreSQL 15's."""
    assert isinstance(bind(f"row({', '.join(['1'] * 1664)})"), Row)
    with pytest.raises(SqlError, match="ROW expressions can have at most 1664 entries") as refused:
        bind(f"row({', '.join(['1'] * 1665)})")
    assert refused.value.sqlstate == "54011"


def test_in_a_query_compares_columns_of_one_type() -> None:
    bound = bind("i4 in (select 1)")
    assert isinstance(bound, Subquery)
    assert bound.kind is SubqueryKind.IN
    assert [c.type for c in bound.plan.columns] == [x.type for x in bound.tests]


def test_lists() -> None:
    for sql in ("i4 in (1, 2)", "i4 = any(array[1, 2])", "i4 = any('{1,2}')"):
        found = bind(sql)
        assert isinstance(found, InList)
        assert [i.value for i in found.items if isinstance(i, Const)] == [1, 2]
    assert isinstance(bind("i4 <> all('{1,2}')"), Not)


def test_blank_padded_text_is_compared_without_its_blanks() -> None:
    found = bind("bp in ('a  ', 'b')")
    assert isinstance(found, InList)
    assert found.arg.type.pg is t.TEXT
    assert [i.value for i in found.items if isinstance(i, Const)] == ["a", "b"]


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message", "position"),
    [
        ("lower(i4)", "42883", "function lower(integer) does not exist", 8),
        ("i4 + tx", "42883", "operator does not exist: integer + text", 11),
        ("1 + 'a'", "22P02", 'invalid input syntax for type integer: "a"', 12),
        ("pg_switch_wal()", "0A000", "not supported: function pg_switch_wal", 8),
        ("setseed(0.5)", "0A000", "not supported: function setseed(double precision)", 8),
        ("1 ## 2", "42883", "operator does not exist: integer ## integer", 10),
        ("array[i4, tx]", "42804", "ARRAY types integer and text cannot be matched", 18),
        ("i4::date", "42846", "cannot cast type integer to date", 10),
        ("not 5", "42804", "argument of NOT must be type boolean, not type integer", 12),
        ("row_number()", "42809", "window function row_number requires an OVER clause", 8),
    ],
)
def test_errors(sql: str, sqlstate: str, message: str, position: int) -> None:
    with pytest.raises(SqlError) as caught:
        bind(sql)
    assert (caught.value.sqlstate, caught.value.message, caught.value.position) == (sqlstate, message, position)


@pytest.mark.parametrize(
    ("pattern", "escape", "expected"),
    [("a!%b", "!", r"a\%b"), (r"a\b", "", r"a\\b"), (r"a\b", "!", r"a\\b"), ("a!!", "!", r"a\!"), (r"\%", "\\", r"\%")],
)
def test_like_escape(pattern: str, escape: str, expected: str) -> None:
    assert like_escape(pattern, escape) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a%", "^(?:a.*)$"),
        ("(a|b)_.", r"^(?:(?:a|b).\.)$"),
        (r"a\%[%_]", r"^(?:a\%[%_])$"),
        ('a\\"b\\"c', "^(?:a){1,1}?(b){1,1}(?:c)$"),
    ],
)
def test_similar_to_escape(pattern: str, expected: str) -> None:
    assert similar_to_escape(pattern) == expected


def test_types_of_bound_expressions_are_plain() -> None:
    def walk(expr: Expr) -> None:
        for part in expr.walk():
            assert isinstance(part.type, SqlType)
            assert part.type.pg is not t.UNKNOWN

    for sql in ("coalesce('a', tx)", "case tx when 'a' then 1 else 2.5 end", "concat('a', null)", "row('a', null)"):
        walk(bind(sql))

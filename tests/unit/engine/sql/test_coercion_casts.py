"""Casts: the table of pg_cast, implicit and explicit casts, common types, assignment."""

from __future__ import annotations

import psycopg
import pytest
from support.expression_ground import Ground, bind
from support.postgres_server import PostgresServer

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Call, CastContext, Const
from engine.sql.binder import casts, literals
from engine.sql.binder.casts import Means, can_coerce, find_pathway
from engine.sql.binder.resolution import common_of
from wire.errors import CannotCoerce, StringDataRightTruncation
from wire.types import pg_types as t

_CONTEXTS = {"i": "implicit", "a": "assignment", "e": "explicit"}


@pytest.mark.postgres
def test_the_table_is_pg_cast(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.dsn) as connection:
        rows = connection.execute("select castsource, casttarget, castcontext, castmethod from pg_cast").fetchall()
    theirs = {
        (t.BY_OID[int(source)], t.BY_OID[int(target)]): (_CONTEXTS[context], method == "b")
        for source, target, context, method in rows
        if source in t.BY_OID and target in t.BY_OID and source != target
    }
    ours = {pair: (context, means is Means.RELABEL) for pair, (context, means) in casts._TABLE.items()}
    assert ours == theirs


@pytest.mark.parametrize(
    ("source", "target", "context", "means"),
    [
        (t.INT4, t.INT8, "implicit", Means.FUNCTION),
        (t.INT8, t.INT4, "implicit", None),
        (t.INT8, t.INT4, "assignment", Means.FUNCTION),
        (t.INT4, t.TEXT, "implicit", None),
        (t.INT4, t.TEXT, "assignment", Means.IO),
        (t.TEXT, t.INT4, "assignment", None),
        (t.TEXT, t.INT4, "explicit", Means.IO),
        (t.TEXT, t.VARCHAR, "implicit", Means.RELABEL),
        (t.array_of(t.INT4), t.array_of(t.INT8), "implicit", Means.ARRAY),
        (t.array_of(t.INT8), t.array_of(t.INT4), "implicit", None),
        (t.array_of(t.INT4), t.TEXT, "assignment", Means.IO),
        (t.array_of(t.INT2), t.BY_NAME["int2vector"], "explicit", None),
        (t.BOOL, t.INT8, "explicit", None),
        (t.DATE, t.TIMESTAMPTZ, "implicit", Means.FUNCTION),
    ],
)
def test_pathways(source: t.PgType, target: t.PgType, context: CastContext, means: Means | None) -> None:
    assert find_pathway(source, target, context) is means
    assert can_coerce(source, target, context) is (means is not None)


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ((), t.TEXT),
        ((t.INT4, t.INT8, t.INT2), t.INT8),
        ((t.INT4, t.NUMERIC), t.NUMERIC),
        ((t.NUMERIC, t.FLOAT4), t.FLOAT4),
        ((t.FLOAT4, t.FLOAT8, t.NUMERIC), t.FLOAT8),
        ((t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ), t.TIMESTAMPTZ),
        ((t.VARCHAR, t.TEXT), t.VARCHAR),
        ((t.BPCHAR, t.VARCHAR), t.BPCHAR),
        ((t.INT4, t.TEXT), None),
        ((t.BOOL, t.INT4), None),
    ],
)
def test_common_types(types: tuple[t.PgType, ...], common: t.PgType | None) -> None:
    assert common_of(types) is common


def test_an_explicit_cast_cuts_and_an_assignment_does_not() -> None:
    ground = Ground()
    target = SqlType(t.VARCHAR, 7)
    value = bind("'abcd'")
    cut = ground.binder.coerce(value, target, "explicit")
    assert isinstance(cut, Const)
    assert cut.value == "abc"
    with pytest.raises(StringDataRightTruncation, match=r"value too long for type character varying\(3\)"):
        ground.binder.coerce(value, target, "assignment")
    blanks = ground.binder.coerce(bind("'abc   '"), target, "assignment")
    assert isinstance(blanks, Const)
    assert blanks.value == "abc"


def test_a_cast_that_is_not_allowed() -> None:
    ground = Ground()
    with pytest.raises(CannotCoerce, match="cannot cast type integer to date"):
        ground.binder.coerce(ground.bind("i4"), st.of(t.DATE), "explicit")


def test_unify_gives_one_storage() -> None:
    ground = Ground()
    typ, exprs = ground.binder.unify([ground.bind("n"), ground.bind("i4"), literals.unknown_literal(None)], "UNION")
    assert typ == st.numeric(15, 2)
    assert [e.type for e in exprs] == [typ] * 3
    assert isinstance(exprs[1], Call)


def test_as_type_wants_one_type() -> None:
    ground = Ground()
    assert ground.binder.as_type(ground.bind("5"), t.INT8, "LIMIT") == Const(st.of(t.INT8), 5)

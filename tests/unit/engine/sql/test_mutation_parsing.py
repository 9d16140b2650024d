"""INSERT, UPDATE, DELETE, MERGE and TRUNCATE as the parser returns them."""

from __future__ import annotations

import pytest
from sqlglot import exp

from engine.sql.parser.nodes.statements import (
    Delete,
    Insert,
    Merge,
    PrepareStatement,
    Query,
    Statement,
    Truncate,
    Update,
)
from engine.sql.parser.parse import parse
from wire.errors import FeatureNotSupported, SqlSyntaxError


def read(sql: str) -> Statement:
    (statement,) = parse(sql)
    return statement


def insert(sql: str) -> Insert:
    statement = read(sql)
    assert isinstance(statement, Insert)
    return statement


def test_insert_has_its_parts() -> None:
    found = insert(
        "insert into s.t as x (a, b) values (1, default) on conflict (a) do update set b = 2 returning *, a y"
    )
    assert (found.target.text("db"), found.target.name, found.alias) == ("s", "t", "x")
    assert [c.name for c in found.columns or ()] == ["a", "b"]
    assert isinstance(found.source, exp.Values)
    assert isinstance(found.source.expressions[0].expressions[1], exp.Var)
    assert found.conflict is not None
    assert [c.name for c in found.conflict.columns] == ["a"]
    assert len(found.returning) == 2


@pytest.mark.parametrize(
    "sql",
    ["insert into t (select 1)", "insert into t ((select 1))", "insert into t (a) (select 1)", "insert into t table u"],
)
def test_a_query_in_parentheses_is_no_list_of_columns(sql: str) -> None:
    assert insert(sql).source is not None


def test_default_values() -> None:
    assert insert("insert into t default values").source is None


def test_with_before_a_statement_is_its_own() -> None:
    found = insert("with a as (select 1), b (x) as materialized (select 2) insert into t select * from a, b")
    assert found.with_ is not None
    assert found.source is not None
    assert found.source.args.get("with_") is None


def test_a_query_may_have_items_of_such_names() -> None:
    assert isinstance(read("with insert as (select 1), delete as (select 2) select * from insert, delete"), Query)


def test_update_has_its_parts() -> None:
    found = read(
        "update only t set a = 1, (b, c) = (2, default), (d, e) = (select 1, 2) from u where t.a = u.a returning 1"
    )
    assert isinstance(found, Update)
    assert [(len(a.columns), a.row) for a in found.assignments] == [(1, False), (2, True), (2, True)]
    assert found.from_ is not None
    assert found.where is not None
    assert len(found.returning) == 1


@pytest.mark.parametrize(
    ("sql", "alias"), [("update t set a = 1", ""), ("update t x set a = 1", "x"), ("update t as set set a = 1", "set")]
)
def test_set_is_an_alias_only_after_as(sql: str, alias: str) -> None:
    found = read(sql)
    assert isinstance(found, Update)
    assert found.target.alias == alias


def test_delete_has_its_parts() -> None:
    found = read("delete from t as x using u, v where x.a = u.a")
    assert isinstance(found, Delete)
    assert found.target.alias == "x"
    assert found.using is not None
    assert len(found.using.expressions) == 2


def test_merge_has_its_parts() -> None:
    found = read(
        "merge into t x using (select 1 a) s on x.a = s.a when matched and s.a > 1 then update set b = 2 "
        "when matched then delete when not matched then insert (a) values (default) when not matched then do nothing"
    )
    assert isinstance(found, Merge)
    assert [(w.matched, w.action) for w in found.whens] == [
        (True, "update"),
        (True, "delete"),
        (False, "insert"),
        (False, "nothing"),
    ]


def test_truncate_has_its_parts() -> None:
    found = read("truncate table a, only s.b restart identity cascade")
    assert isinstance(found, Truncate)
    assert ([t.name for t in found.tables], found.restart, found.cascade) == (["a", "b"], True, True)


def test_they_can_be_prepared() -> None:
    found = read("prepare p (int) as insert into t values ($1)")
    assert isinstance(found, PrepareStatement)
    assert isinstance(found.inner, Insert)
    assert (found.inner.text, found.inner.offset) == ("insert into t values ($1)", 19)


@pytest.mark.parametrize(
    ("sql", "position"),
    [
        ("insert t", 8),
        ("insert into t", 14),
        ("update t a = 1", 12),
        ("delete t", 8),
        ("insert into t (a, ) values (1)", 19),
    ],
)
def test_errors_point_at_the_token(sql: str, position: int) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse(sql)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "sql",
    [
        "insert into t values (1) on conflict (a text_pattern_ops) do nothing",
        "delete from t where current of c",
    ],
)
def test_what_is_not_supported_is_said(sql: str) -> None:
    with pytest.raises(FeatureNotSupported):
        parse(sql)

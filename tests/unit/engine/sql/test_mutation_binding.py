"""The bound form of statements that change rows, and PostgreSQL's errors with their positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from engine.catalog.model.objects import Constraint, Storage, Table, TableColumn
from engine.common import sql_type as st
from engine.pg_catalog.fixed_catalog import FixedCatalog
from engine.plan_ir.logical import FILE, ROW, Mutate, Root, TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.planner import optimise
from engine.sql.binder.mutations import BoundMutation, bind_mutation
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.sql.parser.nodes.statements import MutationStatement
from engine.sql.parser.parse import parse
from engine.statements.dml.intents import Intents, collect_intents
from engine.statements.shared.plan_files import only_files
from wire.errors import SqlError
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings

_COLUMNS = (
    TableColumn("a", st.of(t.INT4), 1, nullable=False),
    TableColumn("b", st.of(t.VARCHAR, 9), 2, default="'dflt'"),
    TableColumn("c", st.of(t.NUMERIC, ((10 << 16) | 2) + 4), 4, stored="c_1"),
)
_KEY = Constraint(2, "t_pkey", "primary key", ("a",))
_CHECK = Constraint(3, "t_a_check", "check", ("a",), "a > 0")
_STORED = Table(
    16400, "public", "t", _COLUMNS, "parquet", "/data/t", ("/data/t/1.parquet", "/data/t/2.parquet"),
    storage=Storage("t", 0), constraints=(_KEY, _CHECK),
)  # fmt: skip
_FOREIGN = replace(_STORED, oid=16401, name="f", storage=None, constraints=())
_CATALOG = FixedCatalog({"t": _STORED, "f": _FOREIGN})


def bind(sql: str, types: Sequence[int] = ()) -> BoundMutation:
    (statement,) = parse(sql)
    assert isinstance(statement, MutationStatement)
    return bind_mutation(statement, BindContext(_CATALOG, ("public",), InputSettings(), ParameterTypes(types)))


def readers(plan: Mutate) -> Iterator[TableReader]:
    yield from (node for node in walk_all(plan.input) if isinstance(node, TableReader))


def test_parameters_take_the_types_of_their_columns() -> None:
    bound = bind("insert into t (c, a, b) values ($1, $2, $3), ($4, 1, $5)")
    assert [pg.name for pg in bound.parameters] == ["numeric", "int4", "varchar", "numeric", "varchar"]
    assert [pg.name for pg in bind("update t set b = $1 where a = $2").parameters] == ["varchar", "int4"]
    assert [pg.name for pg in bind("insert into t select $1, $2").parameters] == ["int4", "varchar"]


def test_returning_tells_where_its_columns_are_from() -> None:
    bound = bind("insert into t (a) values (1) returning *, a + 1 as next")
    assert bound.columns is not None
    assert [(c.name, c.table_oid, c.attribute) for c in bound.columns] == [
        ("a", 16400, 1),
        ("b", 16400, 2),
        ("c", 16400, 4),
        ("next", 0, 0),
    ]
    assert bind("delete from t").columns is None


def test_a_statement_says_which_keys_it_may_break() -> None:
    assert bind("insert into t (a) values (1)").plan.keys == (_KEY,)
    assert bind("update t set a = 1").plan.keys == (_KEY,)
    assert bind("update t set b = 'x'").plan.keys == ()
    assert bind("delete from t").plan.keys == ()
    nothing = bind("insert into t (a) values (1) on conflict do nothing").plan
    assert (nothing.keys, nothing.whole) == ((), True)
    assert bind("insert into t (a) values (1) on conflict (a) do update set a = 2").plan.keys == (_KEY,)


def test_checks_are_computed_beside_the_row() -> None:
    plan = bind("update t set a = 1").plan
    assert [constraint.name for constraint, _ in plan.checks] == ["t_a_check"]
    assert bind("delete from t").plan.checks == ()


def test_a_condition_of_a_row_by_itself_reads_the_files_once() -> None:
    plan = bind("update t set b = 'x' where a in (select a from f)").plan
    assert [reader.table.name for reader in readers(plan)].count("t") == 1
    assert plan.located is not None


@pytest.mark.parametrize(
    "sql",
    [
        "update t set b = f.b from f where f.a = t.a",
        "update t set b = (select max(b) from f where f.a = t.a)",
        "delete from t using f where f.a = t.a",
        "delete from t returning (select 1)",
    ],
)
def test_otherwise_matches_are_found_first_and_joined_by_place(sql: str) -> None:
    plan = bind(sql).plan
    ours = [reader for reader in readers(plan) if reader.table.name == "t"]
    assert len(ours) == 2
    assert all({FILE, ROW} <= set(reader.names) for reader in ours)


def test_a_volatile_condition_is_not_asked_twice() -> None:
    assert bind("delete from t where random() < 0.5").plan.located is None
    assert bind("delete from t where a < 5").plan.located is not None


def test_only_the_target_is_narrowed_to_its_files() -> None:
    plan = bind("update t set b = u.b from t u where u.a = t.a").plan
    narrowed = optimise(Root(plan.input.columns, only_files(plan.input, plan.targets, ["/data/t/2.parquet"])))
    found = sorted(len(n.table.files) for n in walk_all(narrowed) if isinstance(n, TableReader) and n.table.name == "t")  # type: ignore[union-attr]
    assert found == [1, 2, 2]


def test_columns_are_read_by_the_names_of_the_files() -> None:
    (reader,) = readers(bind("delete from t").plan)
    assert reader.names == ("a", "b", "c_1", FILE, ROW)


ERRORS = {
    "insert into nope values (1)": ("42P01", 13),
    "insert into f values (1)": ("0A000", None),
    "insert into t (a, zz) values (1, 2)": ("42703", 19),
    "insert into t (a, a) values (1, 2)": ("42701", 19),
    "insert into t values (1, 'x', 2, 3)": ("42601", 34),
    "insert into t (a, b) values (1)": ("42601", 19),
    "insert into t values (1), (1, 2)": ("42601", 28),
    "insert into t values (true)": ("42804", 23),
    "insert into t select true": ("42804", 22),
    "insert into t values ('x')": ("22P02", 23),
    "insert into t values (1, 'too long')": ("22001", None),
    "insert into t values (count(*))": ("42803", 23),
    "insert into t values (1) returning zz": ("42703", 36),
    "insert into t values (1) returning count(*)": ("42803", 36),
    "insert into t values (1) on conflict (b) do nothing": ("42P10", None),
    "update t set zz = 1": ("42703", 14),
    "update t set a = true": ("42804", 18),
    "update t set a = 1, a = 2": ("42601", None),
    "update t set a = max(a)": ("42803", 18),
    "update t set (a, b) = (1, 2, 3)": ("42601", 23),
    "update t set a = 1 where b": ("42804", 26),
    "update t x set a = t.a": ("42P01", 20),
    "delete from t where count(*) > 1": ("42803", 21),
    "delete from t using t where true": ("42712", None),
    "merge into t using t on true when matched then delete": ("42712", None),
    "merge into t using f on t.a = f.a when not matched then insert values (t.a)": ("42P01", 72),
}


@pytest.mark.parametrize("sql", ERRORS)
def test_errors(sql: str) -> None:
    with pytest.raises(SqlError) as caught:
        bind(sql)
    assert (caught.value.sqlstate, caught.value.position) == ERRORS[sql]


def test_intents_of_several_are_one() -> None:
    whole = collect_intents([Intents(removed=("a",), rows=2), Intents(removed=("b",), rows=3)])
    assert (whole.removed, whole.rows) == (("a", "b"), 5)
    assert not Intents()

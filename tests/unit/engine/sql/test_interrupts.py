"""The processing of a statement ends at its next step once it is interrupted, in every phase."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest
from support.binding_ground import TestCatalog, bind

from engine.common.interrupts import StatementWork, check_for_interrupts, work_scope
from engine.plan_ir.rewrite import size, walk_all
from engine.planner.codegen import Bindings, compile_plan, to_sql
from engine.planner.optimizer.pruning import prune_files
from engine.planner.planner import optimise
from engine.sql.binder import bind_query
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.sql.parser.lexical.lexer import tokenize
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from wire.errors import OutOfMemory, QueryCanceled
from wire.types.text_settings import InputSettings

_SQL: Final = "select o_orderkey + 1 from orders where o_custkey in (1, 2) or o_comment like 'a%'"
_BINDINGS: Final = Bindings({}, {}, "UTC")
_PARTS: Final = (
    "lexer", "grammar", "binder", "passes", "pruning", "size", "walk",
    "compilation for DuckDB", "compilation for Spark", "text for DuckDB", "text for Spark",
)  # fmt: skip


def _binding() -> Callable[[], object]:
    (query,) = parse(_SQL)
    assert isinstance(query, Query)
    context = BindContext(TestCatalog(), ("public",), InputSettings(), ParameterTypes(()))
    return lambda: bind_query(query, context)


def _works() -> dict[str, Callable[[], object]]:
    """Each part of the work on a statement, ready to begin."""
    bound = bind(_SQL, TestCatalog()).plan
    plan = optimise(bound)
    tree = compile_plan(plan, "local", _BINDINGS).statement
    return {
        # A short text that has been read is not read again.
        "lexer": partial(tokenize, _SQL + " or true" * 300),
        "grammar": partial(parse, _SQL),
        "binder": _binding(),
        "passes": partial(optimise, bound),
        "pruning": partial(prune_files, plan, {}),
        "size": partial(size, plan),
        "walk": lambda: list(walk_all(plan)),
        "compilation for DuckDB": partial(compile_plan, plan, "local", _BINDINGS),
        "compilation for Spark": partial(compile_plan, plan, "spark", _BINDINGS),
        "text for DuckDB": partial(to_sql, tree, "local"),
        "text for Spark": partial(to_sql, tree, "spark"),
    }


@pytest.mark.parametrize("name", _PARTS)
def test_interrupted_work_ends_at_its_next_step(name: str) -> None:
    work = StatementWork()
    work.interrupted = True
    run = _works()[name]
    with work_scope(work), pytest.raises(QueryCanceled):
        run()


def test_grouping_sets_count_by_their_columns() -> None:
    """A plan of few nodes may be compiled to a long statement."""
    of_one, of_many = (
        size(bind(f"select count(*) from orders group by {group}", TestCatalog()).plan)
        for group in ("o_orderkey, o_custkey, o_comment", "cube (o_orderkey, o_custkey, o_comment)")
    )
    assert of_many == of_one + 12


@pytest.mark.parametrize("name", _PARTS)
def test_steps_grow_with_the_statement(name: str) -> None:
    work = StatementWork()
    run = _works()[name]
    with work_scope(work):
        run()
    assert work.steps > 0


def test_memory_is_checked_now_and_then() -> None:
    """Not more often than a thread that waits for the interpreter's lock needs to ask for it."""
    checked: list[float] = []
    seconds = itertools.count()
    work = StatementWork(lambda: checked.append(now), lambda: now)
    with work_scope(work):
        for second in itertools.islice(seconds, 1_000_000):
            now = second / 1_000_000
            check_for_interrupts()
    assert 10 <= len(checked) <= 20
    assert min(after - before for before, after in itertools.pairwise(checked)) >= 0.05


def test_work_that_may_not_take_more_memory_ends() -> None:
    def refuse() -> None:
        raise OutOfMemory("out of memory")

    with work_scope(StatementWork(refuse)), pytest.raises(OutOfMemory):
        parse("select " + "+".join("1" * 20_000))


def test_without_work_nothing_is_counted() -> None:
    check_for_interrupts()
    work = StatementWork()
    with work_scope(work):
        pass
    check_for_interrupts()
    assert work.steps == 0

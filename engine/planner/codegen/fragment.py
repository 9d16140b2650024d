"""Compilation of a logical plan to a fragment that an executor can run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table, are_in_memory
from engine.common.sql_type import SqlType
from engine.contracts.executor import OutputColumn
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Const, Expr, Node, ParamRef
from engine.plan_ir.logical import Aggregator, Evaluator, Limit, Root, Sort, TableReader, Values, With
from engine.plan_ir.rewrite import walk_all
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.codegen.expressions import render
from engine.planner.codegen.grand_totals import with_grand_totals
from engine.planner.codegen.guarded_subqueries import guard_subqueries
from engine.planner.codegen.interruptible import watched_inputs
from engine.planner.codegen.join_equalities import place_equalities
from engine.planner.codegen.keyed_sets import with_keyed_sets
from engine.planner.codegen.many_subqueries import require_plannable
from engine.planner.codegen.point_join import describe_point_join
from engine.planner.codegen.point_read import describe_point_read
from engine.planner.codegen.relations import query
from engine.planner.codegen.scope import Bindings, Compilation, Scope
from engine.planner.codegen.task_functions import check_places
from engine.planner.optimizer.ordering import asks_for_order
from engine.sql.trees.build import QueryTree
from engine.sql.trees.parameters import read_from_row
from wire.types import pg_types as t

#: Up to this many rows a result is small, whatever its columns are.
SMALL_ROWS: Final = 2000


def compile_plan(plan: Node, engine: EngineName, bindings: Bindings) -> CompiledFragment:
    """Compile `plan` to one statement for `engine`, its columns labelled `c<id>`.

    Raises Unsupported for what the engine cannot do, SqlError for what is wrong already (LIMIT -1).
    """
    given = plan
    compilation = Compilation(engine, bindings, query, render)
    tables = _tables(plan)
    compilation.of_catalog = are_in_memory(tables)
    plan = guard_subqueries(with_keyed_sets(plan, engine))
    if engine == "spark":
        plan = with_grand_totals(plan)
        watched = (id(node) for node in watched_inputs(plan) if not is_small(node, bindings))
        compilation.watched = frozenset(watched)
    else:
        placed = place_equalities(plan)
        plan, compilation.derived = placed.plan, placed.derived
    statement = query(plan, Scope(compilation))
    require_plannable(compilation)
    if compilation.hoisted:
        statement = _with_ctes(statement, compilation)
    assert isinstance(statement, exp.Expression)
    compilation.free_leftovers()
    if compilation.functions:
        check_places(statement)
    parameters = _parameters(statement, compilation)
    by_number = bool(parameters) and all(typ.pg in t.WHOLE_NUMBERS for _, typ in parameters.values())
    values_in_row = by_number and compilation.of_catalog and read_from_row(statement)
    fragment = CompiledFragment(
        engine=engine,
        statement=statement,
        columns=tuple(OutputColumn(c.label, c.type) for c in plan.columns),
        tables=tables,
        ordered=asks_for_order(plan),
        small=is_small(plan, bindings),
        scans=compilation.scans,
        functions=compilation.functions,
        parameters=parameters,
        values_in_row=values_in_row,
        point_read=describe_point_read(given, compilation),
    )
    found = describe_point_join(given, compilation)
    if found is None:
        return fragment
    narrowed = compile_plan(found[0], engine, bindings)
    known = all(parameters.get(name) == parameter for name, parameter in narrowed.parameters.items())
    return replace(fragment, point_join=(found[1], narrowed)) if known else fragment


def _parameters(statement: exp.Expression, compilation: Compilation) -> Mapping[str, tuple[int, SqlType]]:
    """Return the parameters whose placeholders are in the statement; an expression that was compiled and then dropped
    has left none.
    """
    if not compilation.placeholders:
        return {}
    written = {node.name for node in statement.find_all(exp.Placeholder)}
    return {name: parameter for parameter, name in compilation.placeholders.items() if name in written}


def _with_ctes(statement: QueryTree, compilation: Compilation) -> QueryTree:
    own = statement.args.get("with_")
    expressions = [*compilation.hoisted, *(own.expressions if own else ())]
    recursive = compilation.recursive or bool(own and own.args.get("recursive"))
    statement.set("with_", exp.With(expressions=expressions, recursive=recursive))
    return statement


def _tables(plan: Node) -> tuple[Table | SystemTable, ...]:
    tables = {(n.table.oid, n.table.version): n.table for n in walk_all(plan) if isinstance(n, TableReader)}
    return tuple(tables.values())


def is_small(node: Node, bindings: Bindings) -> bool:
    """Return whether the result is small by construction: one group, a small LIMIT, literal rows."""
    match node:
        case Aggregator():
            return (not node.group and node.grouping_sets is None) or is_small(node.input, bindings)
        case Limit():
            count = _row_limit(node.count, bindings)
            return (count is not None and count <= SMALL_ROWS and not node.with_ties) or is_small(node.input, bindings)
        case Values():
            return len(node.rows) <= SMALL_ROWS
        case With():
            return is_small(node.body, bindings)
        case Evaluator() | Sort() | Root():
            return is_small(node.input, bindings)
        case _:
            return False


def _row_limit(count: Expr | None, bindings: Bindings) -> int | None:
    if isinstance(count, ParamRef):
        value = bindings.parameters[count.index]
    elif isinstance(count, Const):
        value = count.value
    else:
        return None
    return value if isinstance(value, int) else None

"""EXPLAIN of INSERT, UPDATE, DELETE and MERGE: a MUTATE above its input's plan, and the query that finds the files to
be rewritten.

With DISTSQL it shows the physical plan: the MUTATE is on top of each fragment whose instances write, and the root
collects their intents; if this member writes, the MUTATE is on top of the root.

The number of files is derived from their statistics: how many files may hold a row to be changed, out of how many there
are. With ANALYZE the caller runs the statement, as PostgreSQL does; this module only describes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.catalog.model.objects import Table
from engine.contracts.mesh import Members, MembersNow
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import FILE, Mutate, Root, TableReader
from engine.plan_ir.physical import Mutation
from engine.plan_ir.rewrite import walk_all
from engine.planner.codegen import Bindings
from engine.planner.explain import physical
from engine.planner.explain.formats import format_document
from engine.planner.explain.logical import Annotate, Described, Summary, json_text, text_lines
from engine.planner.explain.physical import PhysicalAnalysis
from engine.planner.explain.row_counts import rows_of_plan
from engine.planner.optimizer.pruning import prune_files
from engine.planner.planner import optimise
from engine.session.context import functions
from engine.sql.parser.nodes import statements as s
from engine.statements.dml.mutation_queries import MutationQueries, keeps_order
from engine.statements.dml.staged_change import stage_change
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery, compile_query, physical_plan
from engine.statements.shared.fragment_texts import fragment_texts
from engine.statements.shared.plan_files import only_files
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices


@dataclass(frozen=True, slots=True)
class _Planned:
    """A plan to be explained. plan: with its inputs as they would run; the readers of files to be rewritten read those
    that may be. candidates: the number of these files; None if none are rewritten.
    """

    plan: Mutate
    input: Root
    candidates: int | None


async def explain_change(
    plan: Mutate,
    session: SessionContext,
    engine: EngineServices,
    statement: s.Explain,
    arguments: Sequence[Any],
    actual: Mapping[str, float | int | str],
) -> list[str]:
    """Return the lines of the answer (one for JSON). actual: figures that are shown beside the plan. Raises SqlError."""
    parameters = dict(enumerate(arguments, 1))
    # It reads footers, for pruning and for the estimates.
    mesh = MembersNow.of(engine.mesh)
    return await engine.planning.run(lambda: _lines(plan, session, engine, mesh, statement, parameters, actual))


def _lines(
    plan: Mutate,
    session: SessionContext,
    engine: EngineServices,
    mesh: Members,
    statement: s.Explain,
    parameters: Mapping[int, Any],
    actual: Mapping[str, float | int | str],
) -> list[str]:
    planned = _plan_mutation(plan, session, parameters)
    query = _compile_mutation(planned, session, engine, mesh, parameters)
    changed = actual.get("Rows")
    rows = rows_of_plan(planned.plan, parameters, changed if isinstance(changed, int) else None, costs=statement.costs)

    def describe_files(node: Node, described: Described) -> Described:
        described = described if statement.distsql else rows(node, described)
        if not isinstance(node, (Mutate, Mutation)) or planned.candidates is None:
            return described
        files = f"{planned.candidates} of {len(plan.table.files)} may be written anew"
        return replace(described, properties={**described.properties, "Files": files})

    if statement.distsql:
        statements = fragment_texts(query, engine) if statement.verbose else None
        return _physical(planned, query, statements, statement, actual, describe_files)
    sql = None
    if statement.verbose and not isinstance(query.runs, DistributedQuery):
        sql = engine.executors.find(query.choice.engine).sql(query.runs)
    summary = Summary(query.choice.engine, query.choice.reason, sql, actual)
    if statement.format != "text":
        return [format_document(json_text(planned.plan, summary, describe_files), statement.format)]
    return text_lines(planned.plan, summary, describe_files)


def _plan_mutation(plan: Mutate, session: SessionContext, parameters: Mapping[int, Any]) -> _Planned:
    """Plan the statement's input. May block on footers."""

    def ready(final: Root) -> Root:
        without_effects = functions.evaluate(optimise(final), session, parameters, effects=False)
        return prune_files(without_effects, parameters)

    input_, located, candidates = plan.input, None, None
    if plan.targets:
        files: Sequence[str] = plan.table.files
        if plan.located is not None:
            located = ready(Root(plan.located.columns, plan.located))
            files = _candidates(located, plan.table)
        candidates = len(files)
        # Without any file to rewrite the statement ends there, and no engine runs the input.
        input_ = only_files(input_, plan.targets, files) if files else input_
    query = ready(Root(input_.columns, input_, plan.requirement))
    shown = replace(plan, input=query.input, located=None if located is None else located.input)
    return _Planned(shown, query, candidates)


def _candidates(located: Node, table: Table) -> Sequence[str]:
    """Return the files that the query for files to be rewritten would open."""
    readers = (node for node in walk_all(located) if isinstance(node, TableReader) and FILE in node.names)
    found = (file for node in readers if isinstance(node.table, Table) for file in node.table.files)
    named = frozenset(found)
    return [file for file in table.files if file in named]


def _compile_mutation(
    planned: _Planned, session: SessionContext, engine: EngineServices, mesh: Members, parameters: Mapping[int, Any]
) -> CompiledQuery:
    """Compile the plan that would make and write the rows."""
    values = {name: session.context_value(name) for name in functions.context_names(planned.input)}
    bindings = Bindings(dict(parameters), values, session.settings.get("TimeZone"))
    queries, plan, topology = (
        MutationQueries(session, engine),
        planned.plan,
        engine.config.topology,
    )
    terms, change = (
        queries.terms(planned.input, writes=True),
        stage_change(session, engine, replace(plan, input=planned.input)),
    )
    query = compile_query(planned.input, terms, bindings, mesh, topology, change=change)
    if keeps_order(plan, query):
        terms = terms.on_this_member()
        query = compile_query(planned.input, terms, bindings, mesh, topology)
    return replace(query, physical=physical_plan(planned.input, query, terms, bindings, mesh, topology))


def _physical(
    planned: _Planned,
    query: CompiledQuery,
    statements: Mapping[int, str] | None,
    statement: s.Explain,
    actual: Mapping[str, float | int | str],
    told: Annotate,
) -> list[str]:
    plan = query.physical
    assert plan is not None, "it is known how the plan is spread"
    if not plan.mutates:
        root = replace(plan.root, root=replace(planned.plan, input=_below_final(plan.root.root), located=None))
        plan = replace(plan, fragments=(*plan.fragments[:-1], root))
    analysis = PhysicalAnalysis(totals=actual)
    if statement.format != "text":
        return [format_document(physical.json_text(plan, analysis, statements, told), statement.format)]
    return physical.text_lines(plan, analysis, statements, told)


def _below_final(node: Node) -> Node:
    return node.input if isinstance(node, Root) else node

"""From a bound query to a fragment that an engine can run: the passes in their order, the choice of engine,
compilation.

The passes, and the reason for the place of each:

1. `push_filters` pushes conditions to the readers, so that files are pruned and the size of the input is right.
2. `prune_columns` drops columns that nobody reads; it runs after filters, whose own columns count as used while they are above.
3. `insert_sorts` meets ordering requirements; it runs after pruning, so that sort keys count as used.
4. `relax_orderings` removes sorts that do not affect the output: those of the query's own subqueries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

from engine.catalog.model.objects import are_in_memory
from engine.common.depth import bounded_depth
from engine.contracts.query_id import EngineName
from engine.plan_ir import logical
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.codegen import Bindings, Unsupported, compile_plan
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.engine_model import DEFAULT_MODEL, EngineModel, Expected
from engine.planner.optimizer.constant_divisions import divides_by_zero
from engine.planner.optimizer.file_order import in_file_order
from engine.planner.optimizer.insert_sorts import insert_sorts
from engine.planner.optimizer.plan_work import plan_work
from engine.planner.optimizer.prune_columns import prune_columns
from engine.planner.optimizer.push_filters import push_filters
from engine.planner.optimizer.relax_orderings import relax_orderings
from engine.planner.optimizer.workload import workload
from engine.settings.session_settings import size_text
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported

Wish = Literal["auto", "spark", "local"]
NodeT = TypeVar("NodeT", bound=Node)

PASSES: Final[tuple[Callable[[Node], Node], ...]] = (push_filters, prune_columns, insert_sorts, relax_orderings)


def optimise(plan: logical.Root) -> logical.Root:
    """Run all passes on a plan; FINAL stays on top. Raises StatementTooComplex for a plan that is too deep to walk."""
    node: Node = plan
    with bounded_depth():
        for run in PASSES:
            node = run(node)
        if not isinstance(node, logical.Root):
            raise TypeError(f"a pass took FINAL away and left {type(node).__name__}")
        return replace(node, divides_by_zero=True) if divides_by_zero(node) else node


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine of a fragment, and the reason in words for EXPLAIN. expected: the estimated time of the fragment
    there, if it was estimated.
    """

    engine: EngineName
    reason: str
    expected: Expected | None = None


def choose(
    plan: Node,
    wish: Wish,
    local_limit: int,
    parameters: Mapping[int, Any],
    model: EngineModel = DEFAULT_MODEL,
    *,
    writes: bool = False,
) -> Choice:
    """Choose the engine that runs `plan`. `local_limit`: bytes of column data; see `sluice.local_limit`. writes:
    whether its rows are written into files.
    """
    tables = [node.table for node in walk_all(plan) if isinstance(node, TableReader)]
    if are_in_memory(tables):
        return Choice("local", "the system catalog is the member's own")
    if wish != "auto":
        # The planner chooses Spark for few statements, so its speed is also learnt from those for which the user chose
        # it.
        is_told = wish == "spark" and bool(tables)
        expected = model.estimate_spark(plan_work(plan, parameters, writes=writes)) if is_told else None
        return Choice(wish, f"sluice.engine is {wish}", expected)
    if not tables:
        return Choice("local", "it reads no table")
    work = workload(plan, parameters, local_limit)
    verdict = model.decide(plan_work(plan, parameters, writes=writes, read=work.read))
    if work.size > local_limit:
        limit = size_text(local_limit)
        return Choice("spark", f"{work.text}, over sluice.local_limit {limit}", verdict.spark)
    return Choice(verdict.engine, f"{work.text}; {verdict.reason}", verdict.estimate)


def compile_choice(
    plan: logical.Root, choice: Choice, wish: Wish, bindings: Bindings
) -> tuple[CompiledFragment, Choice]:
    """Compile the fragment for the chosen engine. If that engine lacks something, and the user has not set the engine,
    compile it for the other one.

    Raises FeatureNotSupported naming what the chosen engine lacks.
    """
    try:
        return _compile(plan, choice.engine, bindings), choice
    except Unsupported as lacking:
        if wish != "auto":
            raise FeatureNotSupported(
                f"not supported on {lacking.engine}: {lacking.what}",
                hint="SET sluice.engine = auto lets the planner use an engine that has it.",
            ) from None
        other: EngineName = "local" if choice.engine == "spark" else "spark"
        try:
            fragment = _compile(plan, other, bindings)
        except Unsupported:
            raise FeatureNotSupported(f"not supported: {lacking.what}") from None
        return fragment, Choice(other, f"{choice.engine} does not have {lacking.what}")


def _compile(plan: logical.Root, engine: EngineName, bindings: Bindings) -> CompiledFragment:
    return compile_plan(in_file_order(plan) if engine == "local" else plan, engine, bindings)

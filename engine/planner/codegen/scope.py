"""The state that the parts of one compilation share (the engine, the bindings, fresh names), and the SQL of columns.

A `Scope` says how each column of a SELECT's FROM clause is written there. Scopes nest as the SELECTs do. A column that
is not found in a scope belongs to an outer query; since every alias is unique in the statement, the inner query can
name it by the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from engine.common.disposal import take_apart
from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Column, Expr, Node, Subquery
from engine.sql.trees.build import QueryTree
from engine.sql.trees.copies import copy_tree
from engine.sql.trees.literals import literal
from engine.sql.trees.parameters import NO_VALUES, placeholder
from engine.sql.trees.unsupported import Unsupported
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.planner.codegen.scan import Scan
    from engine.planner.codegen.task_function import TaskFunction

#: The weight of a correlated subquery, or of a LATERAL item (`engine.planner.codegen.many_subqueries`).
CORRELATED: Final = 4
#: The number of compiled trees up to which a statement is short.
_SHORT: Final = 1000


@dataclass(frozen=True, slots=True)
class Bindings:
    """The values that a statement is executed with, in canonical form (`engine.plan_ir.expr`).

    parameters: by number, from 1; `NO_VALUES`: they remain parameters (`engine.sql.trees.parameters`). context: by the
    name of a `ContextRef`. time_zone: the session's.
    """

    parameters: Mapping[int, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    time_zone: str = "UTC"


@dataclass(slots=True)
class Compilation:
    """The compilation of one statement for one engine.

    query: compiles a plan into a complete query, its columns labelled (`engine.planner.codegen.relations`).
    render: compiles an expression (`engine.planner.codegen.expressions`).
    ctes: the columns of each common table expression in scope, by its id.
    hoisted, recursive: the statement's own WITH; in_place: ids of those defined elsewhere; recursing: of those whose
        recursive term is being compiled.
    watched: ids (Python's) of the nodes whose rows check for an interrupt (`engine.planner.codegen.interruptible`).
    derived: ids of the joins that are to be derived tables (`engine.planner.codegen.join_equalities`).
    scans: the relations that Spark's tasks read through DuckDB, by their names in the statement
        (`engine.planner.codegen.scans`).
    functions: the functions that Spark's tasks compute with DuckDB, by name (`engine.planner.codegen.task_functions`).
    placeholders: the names of the parameters that remain parameters, by number and type.
    subqueries, weight, undivided, weights: the number of subqueries written, their total weight, the weight of those
        that DuckDB decorrelates together, and the weight of each by its identity
        (`engine.planner.codegen.many_subqueries`).
    computed: how many columns `many_subqueries` has computed from subqueries.
    of_catalog: whether the statement reads the system catalog alone.
    made: the trees of expressions and columns that were compiled, whether or not the statement has them
        (`free_leftovers`).
    """

    engine: EngineName
    bindings: Bindings
    query: Callable[[Node, Scope], QueryTree]
    render: Callable[[Expr, Scope], exp.Expression]
    ctes: dict[int, tuple[Column, ...]] = field(default_factory=dict)
    hoisted: list[exp.CTE] = field(default_factory=list)
    recursive: bool = False
    in_place: set[int] = field(default_factory=set)
    recursing: set[int] = field(default_factory=set)
    watched: frozenset[int] = frozenset()
    derived: frozenset[int] = frozenset()
    scans: dict[str, Scan] = field(default_factory=dict)
    functions: dict[str, TaskFunction] = field(default_factory=dict)
    placeholders: dict[tuple[int, SqlType], str] = field(default_factory=dict)
    subqueries: int = 0
    computed: int = 0
    weight: int = 0
    undivided: int = 0
    weights: dict[int, tuple[Subquery, int]] = field(default_factory=dict)
    of_catalog: bool = False
    made: list[exp.Expression] = field(default_factory=list)
    _aliases: count[int] = field(default_factory=lambda: count(1))

    @property
    def bounds_subqueries(self) -> bool:
        """Whether many subqueries are divided, and too many refused. It is false for the system catalog: the views of
        information_schema have dozens over a few hundred rows.
        """
        return self.engine == "local" and not self.of_catalog

    def alias(self) -> str:
        """Return a fresh name for a table."""
        return f"t{next(self._aliases)}"

    def parameter(self, index: int, typ: SqlType) -> exp.Expression:
        """Compile a parameter to its value as a literal, or to a placeholder. Raises ValueNeeded where only its value
        can be written.
        """
        if self.bindings.parameters is not NO_VALUES or self.engine != "local":
            return literal(self.bindings.parameters[index], typ, self.engine)
        name = self.placeholders.setdefault((index, typ), f"p{index}_{len(self.placeholders)}")
        return placeholder(name, typ)

    def free_leftovers(self) -> None:
        """Take the compiled trees apart that the statement does not have: trees that only copies of are written, and
        copies that were examined. Those of a short statement are left to the collections of young objects.
        """
        if len(self.made) > _SHORT:
            # The others belong to the statement or to one of these.
            self.made = [tree for tree in self.made if tree.parent is None]
            take_apart(self.made)

    def unsupported_error(self, what: str) -> Unsupported:
        return Unsupported(self.engine, what)


@dataclass(slots=True)
class Scope:
    """The SQL of columns at one place of a statement."""

    compilation: Compilation
    columns: dict[int, exp.Expression] = field(default_factory=dict)
    outer: Scope | None = None

    @property
    def engine(self) -> EngineName:
        return self.compilation.engine

    @property
    def is_inside(self) -> bool:
        """Whether an outer query has columns that may be referenced here."""
        return self.outer is not None and (bool(self.outer.columns) or self.outer.is_inside)

    def column(self, column: Column) -> exp.Expression:
        """Return the column as it is written here, as a copy that the caller may change."""
        scope: Scope | None = self
        while scope is not None:
            tree = scope.columns.get(column.id)
            if tree is not None:
                return self.copy(tree)
            scope = scope.outer
        raise AssertionError(f"column {column.label} ({column.name}) is out of reach")

    def copy(self, tree: exp.Expression) -> exp.Expression:
        """Return a copy of a compiled tree; the statement may have either of them, both or none."""
        copy = copy_tree(tree)
        self.compilation.made += (tree, copy)
        return copy

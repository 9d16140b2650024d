"""Validation of statements for Spark that another member sent: the member that runs one checks that the compiler could
have produced it.

The check uses the tree of Sluice's own dialect (`engine.sql.trees.engine_dialects`), and it trusts the tree only if
printing it reproduces the text exactly. So a statement that passes is what the compiler's generator writes for a tree
of these nodes, these functions (`engine.executors.spark.fragment_functions`) and these tables. Its quoting of names and
literals, which clients write, is the generator's, on which the compiler relies for every statement.

Rejected: Spark's own parser. Its tree lives in the JVM and costs a call for each node, and Spark would have to be
started to refuse a statement.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.common.depth import bounded_depth
from engine.executors.spark.fragment_functions import FUNCTIONS, TABLE_FUNCTIONS
from engine.planner.codegen.provenance import refusal, require_compilable
from engine.sql.trees.dialects import to_sql
from engine.sql.trees.engine_dialects import DIALECTS

_QUERIES: Final = (exp.Select, exp.SetOperation)
#: The nodes of the compiler's trees, but for calls of functions by name.
_NODES: Final = frozenset((
    "Add", "Alias", "And", "Array", "Between", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Boolean", "Bracket",
    "CTE", "Case", "Cast", "Column", "ColumnDef", "Cube", "DPipe", "DataType", "DataTypeParam", "Distinct", "Div", "Dot",
    "EQ", "Except", "Exists", "Extract", "Filter", "From", "GT", "GTE", "Group", "GroupingSets", "Having", "Identifier", "If",
    "In", "IntDiv", "Intersect", "Interval", "IntervalSpan", "Is", "Join", "LT", "LTE", "Lambda", "Lateral", "Like", "Limit",
    "Literal", "Mod", "Mul", "NEQ", "Neg", "Not", "Null", "NullSafeEQ", "NullSafeNEQ", "Offset", "Or", "Order", "Ordered",
    "Paren", "RegexpLike", "Rollup", "Select", "Star", "Sub", "Subquery", "Table", "TableAlias", "Transform", "TryCast",
    "Tuple", "Union", "Values", "Var", "Where", "Window", "WindowSpec", "With", "WithinGroup",
))  # fmt: skip
#: The call by which a task notices that it has been killed (`engine.planner.codegen.interruptible`).
_LOOK: Final = "JAVA_METHOD('java.lang.Thread', 'sleep', CAST(0 AS BIGINT))"


def require_compiled(statement: str, relations: Set[str]) -> tuple[str, ...]:
    """Return the files that a statement names, which are none. Raises InsufficientPrivilege unless the compiler could
    have produced it.

    relations: the names of the tables that the sender describes. Takes some milliseconds, in proportion to the text.
    """
    with bounded_depth():
        tree = _tree(statement)
        for node in tree.walk():
            _require_node(node, relations)
    return ()


def _tree(statement: str) -> exp.Expression:
    try:
        trees = sqlglot.parse(statement, dialect=DIALECTS["spark"])
    except SqlglotError:
        raise refusal("it cannot be read") from None
    [tree, *more] = trees
    if more or not isinstance(tree, _QUERIES):
        raise refusal("it is no query")
    if to_sql(tree, "spark") != statement:
        raise refusal("it is not written as the compiler writes it")
    if "${" in statement:
        # Spark substitutes a setting or an environment variable here, even within names.
        raise refusal("it refers to Spark's configuration")
    return tree


def _require_node(node: exp.Expr, relations: Set[str]) -> None:
    if isinstance(node, exp.Table):
        _require_table(node, relations)
    elif isinstance(node, exp.Anonymous):
        name = node.name
        in_from = isinstance(node.parent, (exp.Table, exp.Lateral))
        known = name.lower() in (TABLE_FUNCTIONS if in_from else FUNCTIONS) or to_sql(node, "spark") == _LOOK
        require_compilable(known and isinstance(node.this, str), f'the function "{name}"')
    else:
        kind = type(node).__name__
        require_compilable(kind in _NODES, f"an expression {kind}")


def _require_table(node: exp.Table, relations: Set[str]) -> None:
    """Refuse a table unless it is one that the sender describes, a common table expression in scope, or a function's
    rows.
    """
    if isinstance(node.this, exp.Anonymous):
        return
    plain = isinstance(node.this, exp.Identifier) and set(filter(node.args.get, node.args)) <= {"this", "alias"}
    require_compilable(plain and (node.name in relations or node.name in _in_sight(node)), f'the table "{node.name}"')


def _in_sight(node: exp.Expr) -> set[str]:
    """Return the common table expressions to which a table's name may refer: those of the enclosing queries, and
    within their list only the preceding ones.
    """
    names: set[str] = set()
    below: exp.Expr = node
    while (above := below.parent) is not None:
        with_ = above.args.get("with_")
        if isinstance(with_, exp.With) and below is not with_:
            names |= {cte.alias for cte in with_.expressions}
        if isinstance(above, exp.With):
            before = above.expressions[: above.expressions.index(below)]
            names |= {cte.alias for cte in before}
            if above.args.get("recursive"):
                names.add(below.alias)
        below = above
    return names

"""Set operations and common table expressions.

A common table expression that refers to nothing around it moves to the statement's own WITH, wherever it was written:
names are unique, and both engines handle it best there. One that refers to an outer query or to a recursion stays in
place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.plan_ir.expr import Column, Node
from engine.plan_ir.free_columns import free_columns
from engine.plan_ir.logical import Aggregator, Cte, CteReader, SetOperation, With
from engine.plan_ir.rewrite import walk_all
from engine.planner.codegen.block import Block
from engine.planner.codegen.expressions import with_digits
from engine.planner.codegen.scope import Scope
from engine.sql.functions.comparison_keys import needs_key
from engine.sql.functions.trees import raises, sql
from engine.sql.trees.build import QueryTree, column, label, table_alias
from wire.types import pg_types as t

Relation = Callable[[Node, Scope], Block]
_CLASSES: dict[str, type[exp.Union] | type[exp.Intersect] | type[exp.Except]] = {
    "union": exp.Union,
    "intersect": exp.Intersect,
    "except": exp.Except,
}
_ZEROS: Final = "regexp_matches($1, '[.][0-9]*0([^0-9]|$)')"
#: Conditions that are true of a value if equal ones may be stored differently: a number may have zeros at its end.
_SPELLED_OTHERWISE: Final = {
    t.JSONB: _ZEROS,
    t.NUMRANGE: _ZEROS,
    t.NUMMULTIRANGE: _ZEROS,
    t.BPCHAR: "ends_with($1, ' ')",
}


def set_operation(node: SetOperation, scope: Scope, relation: Relation) -> Block:
    """Compile UNION, INTERSECT or EXCEPT; a chain of one kind has no parentheses. `keyed_sets` has replaced operations
    that compare keys, but UNION.
    """
    distinct = not node.all
    if distinct and node.kind == "union" and _need_keys(node.columns, scope):
        return relation(Aggregator(node.columns, replace(node, all=True), node.columns), scope)
    left, right = (_operand(side, node.columns, scope, relation) for side in (node.left, node.right))
    kind = _CLASSES[node.kind]
    chains = type(left) is kind and bool(left.args.get("distinct")) == distinct and not left.args.get("with_")
    query = kind(this=left if chains else _parenthesize(left), expression=_parenthesize(right), distinct=distinct)
    return _whole(query, node.columns, scope)


def _need_keys(columns: Sequence[Column], scope: Scope) -> bool:
    return any(needs_key(c.type, scope.engine) for c in columns)


def _operand(node: Node, columns: Sequence[Column], scope: Scope, relation: Relation) -> QueryTree:
    """Compile one side, labelled as the operation's columns are and with their digits."""
    block = relation(node, scope)
    labels = [c.label for c in columns]
    pairs = list(zip(node.columns, columns, strict=True))
    same = all((a.type.precision, a.type.scale) == (b.type.precision, b.type.scale) for a, b in pairs)
    whole = block.whole if same and list(block.scope.columns) == [c.id for c in node.columns] else None
    if whole is not None and _relabel(whole, labels):
        return whole
    block = block.flat()
    trees = [with_digits(block.scope.column(a), a.type, b.type, block.scope) for a, b in pairs]
    return block.close_trees(trees, labels)


def _relabel(query: QueryTree, labels: Sequence[str]) -> bool:
    """Give the columns of an operation other labels, in its first SELECT, where they come from. Returns False if that
    SELECT cannot be found.
    """
    first: exp.Expression = query
    while isinstance(first, exp.SetOperation):
        first = first.this
    if not isinstance(first, exp.Select):
        return False
    for alias, name in zip(first.expressions, labels, strict=False):
        alias.set("alias", label(name))
    return True


def _parenthesize(query: QueryTree) -> exp.Expression:
    """Put an operand in parentheses if it has clauses, or an operation, of its own."""
    clauses = ("order", "limit", "offset", "with_")
    if isinstance(query, exp.SetOperation) or any(query.args.get(clause) for clause in clauses):
        return exp.Subquery(this=query)
    return query


def _whole(query: QueryTree, columns: Sequence[Column], scope: Scope) -> Block:
    """Return a block that is a complete query; its columns can be referenced once it is a derived table."""
    scope.columns = {c.id: exp.column(c.label) for c in columns}
    return Block(scope, whole=query)


def _stored_alike(query: QueryTree, columns: Sequence[Column], scope: Scope) -> exp.Select:
    """Raise an error for a value that may equal one that is stored differently: of a recursive UNION the engine drops
    identical rows only, and would continue with rows that equal earlier ones.
    """
    alias = scope.compilation.alias()
    trees: list[exp.Expression] = []
    for shown in columns:
        tree: exp.Expression = column(shown.label, alias)
        if needs_key(shown.type, scope.engine):
            test = _SPELLED_OTHERWISE.get(shown.type.pg)
            if test is None:
                raise scope.compilation.unsupported_error(f"WITH RECURSIVE with UNION of {shown.type}")
            message = f"not supported: WITH RECURSIVE with UNION of {shown.type} with zeros or blanks at the end"
            tree = sql(
                scope.engine, f"CASE WHEN {test} THEN $2 ELSE $1 END", tree, raises(scope.engine, "0A000", message)
            )
        trees.append(exp.Alias(this=tree, alias=label(shown.label)))
    return exp.Select(expressions=trees).from_(exp.Subquery(this=query, alias=table_alias(alias)))


def cte_name(id_: int) -> str:
    return f"w{id_}"


def cte_reader(node: CteReader, scope: Scope) -> Block:
    alias = scope.compilation.alias()
    # A query without columns has one where it has crossed an edge.
    produced = scope.compilation.ctes[node.cte][: len(node.columns)]
    scope.columns = {c.id: column(p.label, alias) for c, p in zip(node.columns, produced, strict=True)}
    return Block(scope, exp.Table(this=label(cte_name(node.cte)), alias=table_alias(alias)))


def with_(node: With, scope: Scope, relation: Relation) -> Block:
    """Compile the body, with its common table expressions hoisted, or before it."""
    compilation = scope.compilation
    kept: list[exp.CTE] = []
    for cte in node.ctes:
        compilation.ctes[cte.id] = cte.plan.columns
        definition = _definition(cte, scope, relation)
        if _stays(cte, scope):
            kept.append(definition)
            compilation.in_place.add(cte.id)
        else:
            compilation.hoisted.append(definition)
            compilation.recursive = compilation.recursive or cte.step is not None
    body = relation(node.body, scope)
    if not kept:
        return body
    query = body.close(node.body.columns)
    assert not query.args.get("with_")
    recursive = any(cte.step is not None for cte in node.ctes)
    query.set("with_", exp.With(expressions=kept, recursive=recursive))
    return _whole(query, node.body.columns, Scope(compilation, {}, scope.outer))


def _stays(cte: Cte, scope: Scope) -> bool:
    plans = [cte.plan] if cte.step is None else [cte.plan, cte.step]
    compilation = scope.compilation
    readers = {n.cte for plan in plans for n in walk_all(plan) if isinstance(n, CteReader)} - {cte.id}
    bound = compilation.in_place | compilation.recursing
    return bool(readers & bound) or any(free_columns(plan) for plan in plans)


def _definition(cte: Cte, scope: Scope, relation: Relation) -> exp.CTE:
    query = _operand(cte.plan, cte.plan.columns, scope, relation)
    if cte.step is not None:
        query = _recursion(cte, query, cte.step, scope, relation)
    labels = [c.label for c in cte.plan.columns]
    return exp.CTE(this=query, alias=table_alias(cte_name(cte.id), labels))


def _recursion(cte: Cte, base: QueryTree, step: Node, scope: Scope, relation: Relation) -> QueryTree:
    if scope.engine == "spark" and not cte.union_all:
        raise scope.compilation.unsupported_error("WITH RECURSIVE with UNION that is not ALL")
    scope.compilation.recursing.add(cte.id)
    recursive = _operand(step, cte.plan.columns, scope, relation)
    scope.compilation.recursing.discard(cte.id)
    if not cte.union_all and _need_keys(cte.plan.columns, scope):
        base, recursive = (_stored_alike(query, cte.plan.columns, scope) for query in (base, recursive))
    return exp.Union(this=_parenthesize(base), expression=_parenthesize(recursive), distinct=not cte.union_all)

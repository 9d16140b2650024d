"""Bound FROM items: the names that they offer, their visibility to LATERAL, and how they are joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from engine.plan_ir.expr import Node
from engine.plan_ir.free_columns import free_columns
from engine.plan_ir.logical import Join, JoinKind
from engine.sql.binder.blocks import pass_through
from engine.sql.binder.scope import Scope, Source, SourceColumn, Sources
from wire.errors import DuplicateAlias, InvalidColumnReference


@contextmanager
def beside(scope: Scope, left: Sources, *, allowed: bool = True) -> Iterator[None]:
    """Make the sources to the left visible to LATERAL only, while an item is bound. allowed: whether LATERAL may refer
    to them.
    """
    scope.left.append((left, allowed))
    try:
        yield
    finally:
        scope.left.pop()


@contextmanager
def lateral(scope: Scope, active: bool = True) -> Iterator[None]:
    """Set whether the item that is being bound may refer to the items to its left."""
    kept, scope.lateral_active = scope.lateral_active, active
    try:
        yield
    finally:
        scope.lateral_active = kept


def make_join(left: Node, right: Node, kind: JoinKind) -> Join:
    """Return a join without condition. It is lateral if the right side refers to the left one."""
    return Join((*left.columns, *right.columns), kind, left, right, lateral=refers(right, left))


def refers(right: Node, left: Node) -> bool:
    free = free_columns(right)
    return bool(free) and not free.isdisjoint(left.columns)


def add_source(scope: Scope, source: Source) -> Sources:
    """Add an item of one source to the scope. Returns the sources that the item offers."""
    scope.add(source)
    return Sources([source])


def source_of(node: Node, name: str, names: Sequence[str], first: int | None = None) -> Source:
    """Return a source of a node's columns, or of the first ones."""
    columns = pass_through(node.columns[:first])
    return Source(name, tuple(SourceColumn(n, e) for n, e in zip(names, columns, strict=True)))


def aliased_names(alias: exp.Expression | None, names: Sequence[str], relation: str, what: str = "table") -> list[str]:
    """Return column names; an alias's column list replaces the first ones. Raises InvalidColumnReference."""
    given = [c.name for c in alias.args.get("columns") or ()] if alias is not None else []
    if len(given) > len(names):
        message = f'{what} "{relation}" has {len(names)} columns available but {len(given)} columns specified'
        raise InvalidColumnReference(message)
    return [*given, *names[len(given) :]]


def check_names(left: Sources, right: Iterable[Source]) -> None:
    """Check that no relation name occurs twice (checkNameSpaceConflicts)."""
    for b in right:
        for a in left.find_named(b.name) if b.relation_visible else ():
            if a.join or b.join:
                continue
            if a.schema is not None and b.schema is not None and a.schema != b.schema:
                continue
            raise DuplicateAlias(f'table name "{a.name}" specified more than once')


# -- derived tables ----------------------------------------------------------------------------------------------

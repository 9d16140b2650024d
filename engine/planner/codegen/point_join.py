"""Point joins: joins of tables of which a few rows are read, each by a key that is given or that another table's rows give.

`... FROM orders JOIN customer ON c_custkey = o_custkey WHERE o_orderkey = $1` reads one row of `orders`, and by its
customer's number one row of `customer`. DuckDB plans such a statement over the files anew at each execution, which takes
several milliseconds. Its fragment therefore carries a second one, over relations with those rows alone, and how to find
them (`engine.planner.codegen.point_read`): the outer sides of PostgreSQL's nested loops with inner index scans. The
local executor finds the rows in the columns that it holds, and DuckDB joins them.

The form: a tree of inner joins whose leaves are all the table readers of the plan. Each reader has a filter that equates
a column to a value, or a condition of the joins, or of the filter above them, equates one to a column of a reader that is
restricted so. A reader that is restricted by its own filter gives the same rows as before; the others lack rows that the
conditions would drop. What else is above the tree does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.catalog.model.objects import Table
from engine.contracts.executor import OutputColumn
from engine.contracts.output_cast import carrier_schema
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import Expr, Node, references_to
from engine.plan_ir.logical import Evaluator, Join, Root, TableReader
from engine.plan_ir.physical import Receive
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.planner.codegen.point_read import (
    Equality,
    KeySource,
    PointRead,
    PointStep,
    compared_columns,
    equality_of,
    is_plain,
    names_of,
)
from engine.planner.codegen.scope import Compilation

_READERS_MOST: Final = 8


def describe_point_join(plan: Node, compilation: Compilation) -> tuple[Node, tuple[PointStep, ...]] | None:
    """Return the plan over relations of a few rows (`engine.plan_ir.physical.Receive`), and how to find these; None for a
    plan of another form.
    """
    if compilation.engine != "local" or not isinstance(plan, Root):
        return None
    nodes = list(walk_all(plan))
    readers = [node for node in nodes if isinstance(node, TableReader)]
    if not 2 <= len(readers) <= _READERS_MOST or not all(map(_is_plain_reader, readers)):
        return None
    tree = next((node for node in nodes if isinstance(node, Join)), None)
    if tree is None or (joined := _inner_tree(tree)) is None or len(joined[0]) < len(readers):
        return None
    conditions = joined[1]
    for node in nodes:
        if isinstance(node, Evaluator) and node.input is tree:
            # FROM a, b WHERE a.x = b.y
            conditions += conjuncts(node.filter)
    order = _order(readers, conditions, compilation)
    if order is None:
        return None
    numbers = {_key(reader): number for number, (reader, _) in enumerate(order)}

    def narrow(node: Node) -> Node:
        if not isinstance(node, TableReader):
            return node
        number = numbers[_key(node)]
        return _relation(node, number, order[number][1].read.equalities, compilation)

    return rewrite_plan(plan, narrow), tuple(step for _, step in order)


def _is_plain_reader(reader: TableReader) -> bool:
    return bool(reader.columns) and isinstance(reader.table, Table) and is_plain(reader.table, reader)


def _key(reader: TableReader) -> tuple[int, ...]:
    return tuple(column.id for column in reader.columns)


def _inner_tree(node: Node) -> tuple[list[TableReader], list[Expr]] | None:
    """Return the readers and the conditions of a tree of inner joins; None if there is anything else in it."""
    if isinstance(node, TableReader):
        return [node], []
    if not isinstance(node, Join) or node.kind not in ("inner", "cross") or node.lateral:
        return None
    left, right = _inner_tree(node.left), _inner_tree(node.right)
    if left is None or right is None:
        return None
    return left[0] + right[0], [*left[1], *right[1], *conjuncts(node.condition)]


def _order(
    readers: Sequence[TableReader], conditions: Sequence[Expr], compilation: Compilation
) -> list[tuple[TableReader, PointStep]] | None:
    """Return the readers, each after the one that gives its key; None if one of them has no key."""
    found: list[tuple[TableReader, PointStep]] = []
    left = []
    for reader in readers:
        given = tuple(_own_equalities(reader, compilation))
        if given:
            found.append((reader, _step(reader, given, None)))
        else:
            left.append(reader)
    pairs = [pair for condition in conditions if (pair := compared_columns(condition)) is not None]
    pairs += [(second, first) for first, second in pairs]
    while left:
        known = next((step for reader in left if (step := _step_after(found, reader, pairs)) is not None), None)
        if known is None:
            return None
        found.append(known)
        left.remove(known[0])
    return found


def _step_after(
    found: Sequence[tuple[TableReader, PointStep]], reader: TableReader, pairs: Sequence[tuple[int, int]]
) -> tuple[TableReader, PointStep] | None:
    """Return the step of a reader whose key is in the rows of one of these; None if it has no such key."""
    names = names_of(reader)
    for number, (giver, _) in enumerate(found):
        for position, column in enumerate(giver.columns):
            for own, other in pairs:
                if other == column.id and own in names:
                    return reader, _step(reader, (), KeySource(names[own], number, position))
    return None


def _own_equalities(reader: TableReader, compilation: Compilation) -> Iterator[Equality]:
    """Yield the equalities of a reader's filter."""
    names = names_of(reader)
    for part in conjuncts(reader.filter):
        if (equality := equality_of(part, names, compilation)) is not None:
            yield equality


def _step(reader: TableReader, given: tuple[Equality, ...], source: KeySource | None) -> PointStep:
    assert isinstance(reader.table, Table)
    types = {name: column.type for column, name in zip(reader.columns, reader.names, strict=True)}
    schema = carrier_schema([OutputColumn(column.label, column.type) for column in reader.columns])
    return PointStep(PointRead(reader.table, given, reader.names, types), schema, source)


def _relation(reader: TableReader, number: int, given: Sequence[Equality], compilation: Compilation) -> Node:
    """Return the relation of a reader's rows, with what is left of its filter."""
    received = Receive(reader.columns, number)
    names = names_of(reader)
    rest = conjunction(
        tuple(part for part in conjuncts(reader.filter) if equality_of(part, names, compilation) not in given)
    )
    if rest is None:
        return received
    return Evaluator(reader.columns, received, references_to(reader.columns), rest)

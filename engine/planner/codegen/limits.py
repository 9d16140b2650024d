"""LIMIT, OFFSET, FETCH FIRST ... WITH TIES and DISTINCT ON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from engine.common.sql_type import of
from engine.plan_ir.expr import Column, Const, Expr, ParamRef
from engine.plan_ir.logical import DistinctOn, Limit
from engine.planner.codegen.block import Block, Stage
from engine.planner.codegen.expressions import render
from engine.planner.codegen.ordering import in_order, order_by
from engine.planner.codegen.scope import Scope
from engine.planner.codegen.window_keys import may_raise
from engine.sql.functions.comparison_keys import equality_key
from engine.sql.functions.trees import raises
from engine.sql.trees.build import call, case, cast, equals, integer, operand, ordered_term
from engine.sql.trees.storage_types import storage_type
from wire.errors import InvalidRowCountInLimit, InvalidRowCountInOffset, SqlError
from wire.types import pg_types as t

_SPARK_LIMIT_MAX: Final = 2**31 - 1


def limit(node: Limit, block: Block) -> Block:
    """Apply LIMIT to its input; without a count and an offset, only the order that it requires."""
    count, offset = (_row_count(e, c, block.scope) for e, c in ((node.count, "LIMIT"), (node.offset, "OFFSET")))
    if node.with_ties and count is not None:
        return _with_ties(node, block, count, offset)
    if any(map(_is_computed, (node.count, node.offset))) and (block.scope.engine == "spark" or block.scope.is_inside):
        return _by_number(node, block, count, offset)
    block = in_order(node, block)
    if count is None and offset is None:
        return block
    block = block.flat()
    if block.stage is Stage.LIMITED:
        block = block.as_derived_table(keep_order=True)
    block.limit, block.offset, block.stage = count, offset, Stage.LIMITED
    return block


def _row_count(count: Expr | None, clause: str, scope: Scope) -> exp.Expression | None:
    """Compile LIMIT's or OFFSET's number; None for no bound. Raises 2201W or 2201X for a negative constant."""
    if count is None:
        return None
    if _is_computed(count):
        return _computed_row_count(count, clause, scope)
    assert isinstance(count, (Const, ParamRef))
    value = count.value if isinstance(count, Const) else scope.compilation.bindings.parameters[count.index]
    if value is None:
        return None
    if value < 0:
        raise _negative(clause)
    if scope.engine == "spark" and value > _SPARK_LIMIT_MAX:
        raise scope.compilation.unsupported_error(f"{clause} above {_SPARK_LIMIT_MAX}")
    return integer(value)


def _negative(clause: str) -> SqlError:
    error = InvalidRowCountInLimit if clause == "LIMIT" else InvalidRowCountInOffset
    return error(f"{clause} must not be negative")


def _is_computed(count: Expr | None) -> bool:
    return count is not None and not isinstance(count, (Const, ParamRef))


def _computed_row_count(count: Expr, clause: str, scope: Scope) -> exp.Expression:
    value = render(count, scope)
    below_zero = exp.LT(this=operand(value.copy()), expression=integer(0))
    error = _negative(clause)
    refused = cast(raises(scope.engine, error.sqlstate, error.message), storage_type(of(t.INT8), scope.engine))
    return exp.Paren(this=case([(below_zero, refused)], value))


def _by_number(node: Limit, block: Block, count: exp.Expression | None, offset: exp.Expression | None) -> Block:
    """Return the rows whose number is among the first `count` after `offset`: no engine has a LIMIT that is computed in
    a correlated subquery, and Spark has no computed LIMIT at all. A null bound is no bound.
    """
    block = _with_plain_keys(in_order(node, block).at_most(Stage.FILTERED), [key.column for key in node.requirement])
    order = [item.copy() for item in block.order] or [ordered_term(integer(1), descending=False, nulls_first=False)]
    number = exp.Window(this=call("ROW_NUMBER"), order=exp.Order(expressions=order))
    block = block.as_derived_table({"number_": number}, move_order=True)
    skipped = integer(0) if offset is None else call("COALESCE", offset, integer(0))
    if offset is not None:
        block.where.append(exp.GT(this=block.extra_column("number_"), expression=skipped))
    if count is not None:
        past = exp.Paren(this=exp.Sub(this=block.extra_column("number_"), expression=skipped.copy()))
        every = integer(2**63 - 1)
        block.where.append(exp.LTE(this=past, expression=call("COALESCE", count, every)))
    block.stage = Stage.FILTERED
    return block


def _with_ties(node: Limit, block: Block, count: exp.Expression, offset: exp.Expression | None) -> Block:
    """Return the rows whose rank is among the first `count` after `offset`: rows that tie with the last one have its
    rank.
    """
    block = _with_plain_keys(in_order(node, block).at_most(Stage.FILTERED), [key.column for key in node.requirement])
    order = exp.Order(expressions=order_by(block, node.requirement))
    extra = {
        "rank_": exp.Window(this=call("RANK"), order=order),
        "number_": exp.Window(this=call("ROW_NUMBER"), order=exp.Order(expressions=[i.copy() for i in block.order])),
    }
    block = block.as_derived_table(extra, move_order=True)
    last = count if offset is None else exp.Add(this=operand(count), expression=operand(offset.copy()))
    block.where.append(exp.LTE(this=block.extra_column("rank_"), expression=last))
    if offset is not None:
        block.where.append(exp.GT(this=block.extra_column("number_"), expression=offset))
    block.stage = Stage.FILTERED
    return block


def distinct_on(node: DistinctOn, block: Block) -> Block:
    """Return the first row of each group, by its number within the group."""
    block = _with_plain_keys(block.at_most(Stage.FILTERED), (*node.keys, *(key.column for key in node.order)))
    keys = [equality_key(block.scope.column(key), key.type, block.scope.engine) for key in node.keys]
    order = order_by(block, node.order) or [ordered_term(integer(1), descending=False, nulls_first=False)]
    number = exp.Window(this=call("ROW_NUMBER"), partition_by=keys, order=exp.Order(expressions=order))
    block = block.as_derived_table({"number_": number})
    block.where.append(equals(block.extra_column("number_"), integer(1)))
    block.stage = Stage.FILTERED
    return block


def _with_plain_keys(block: Block, keys: Iterable[Column]) -> Block:
    """Return a block in which windows may be partitioned or ordered by these columns (`window_keys`)."""
    refused = (key.id in block.volatile or may_raise(block.scope.column(key)) for key in keys)
    return block.as_derived_table(keep_order=True) if block.scope.engine == "local" and any(refused) else block

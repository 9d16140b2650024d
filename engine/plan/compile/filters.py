"""WHERE or HAVING of a block, whichever its stage asks for."""

from __future__ import annotations

from engine.plan.compile.block import Block, Stage
from engine.plan.compile.expressions import conjunct
from engine.sql.expr import Expr, Subquery


def filtered(block: Block, test: Expr) -> Block:
    """The rows for which `test` is true."""
    grouped = block.stage is Stage.GROUPED and block.whole is None
    if (grouped and any(isinstance(part, Subquery) for part in test.walk())) or block.stage > Stage.GROUPED:
        block = block.derived(keep_order=True)
    block = block.flat().ready_for([test])
    if block.stage is Stage.GROUPED:
        block.having.append(conjunct(test, block.scope))
    else:
        block.where.append(conjunct(test, block.scope))
        block.stage = Stage.FILTERED
    return block

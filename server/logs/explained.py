"""EXPLAIN of a statement that has run, for the log (auto_explain)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.sql.parser.nodes.statements import Explain
from server.cursors.prepared import Command
from server.session.commands import Commands


async def explain_plan(commands: Commands, command: Command, arguments: Sequence[Any], *, verbose: bool) -> str:
    """Return the plan of a query as text. It is planned again for the same arguments; in most cases the statement
    cache has it. Raises SqlError.
    """
    statement = command.statement
    assert statement is not None, "it has run"
    explain = Explain(text=statement.text, offset=statement.offset, inner=statement, verbose=verbose)
    prepared = await commands.engine.prepare(explain, [pg.oid for pg in command.parameters])
    execution = await commands.engine.execute(prepared, arguments)
    lines: list[str] = []
    try:
        while (batch := await execution.stream.next_batch()) is not None:
            lines += batch.column(0).to_pylist()
    finally:
        await execution.close()
    return "\n".join(lines)

"""The class of a statement for `log_statement`: definitions, changes of rows, or the rest.

Source: PostgreSQL 15, utility.c (GetCommandLogLevel).
"""

from __future__ import annotations

from typing import Final, Literal

from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyFrom, CopyTo

LogClass = Literal["ddl", "mod", "all"]

#: Statements that neither define objects nor change rows.
_REST: Final = (
    s.Query, s.SetVariable, s.SetConstraints, s.ShowVariable, s.ResetVariable, s.Begin, s.Commit, s.Rollback,
    s.PrepareTransaction, s.Savepoint, s.RollbackTo, s.Release, s.DeclareCursor, s.Fetch, s.CloseCursor, s.ExecuteStatement,
    s.Deallocate, s.Listen, s.Unlisten, s.Notify, s.Discard, s.Lock, s.Checkpoint, s.Vacuum, s.Analyze, s.Reindex, CopyTo,
)  # fmt: skip


def log_class(statement: s.Statement) -> LogClass:
    """Return the class of a statement. EXECUTE has the class of the statement that it executes, which its session
    knows.
    """
    match statement:
        case s.MutationStatement() | s.Truncate() | CopyFrom():
            return "mod"
        case s.WithChanges(last=last):
            return log_class(last)
        case s.PrepareStatement(inner=inner):
            return log_class(inner)
        case s.Explain(inner=inner, analyze=analyze):
            return log_class(inner) if analyze else "all"
        case _:
            return "all" if isinstance(statement, _REST) else "ddl"

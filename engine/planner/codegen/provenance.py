"""The error for a statement that the compiler cannot have generated, raised by the checks of each engine's statements.

See `engine.runtime.peer_statements`.
"""

from __future__ import annotations

from wire.errors import InsufficientPrivilege


def require_compilable(allowed: bool, what: str) -> None:
    """Raise InsufficientPrivilege unless a part of a statement is allowed. what: the part, as a message names it."""
    if not allowed:
        raise refusal(f"it has {what}")


def refusal(why: str) -> InsufficientPrivilege:
    return InsufficientPrivilege(f"a member may not have another run this statement: {why}")

"""The functions of advisory locks, as the session evaluates them (`engine.session.context.functions`). The locks are in
`engine.session.context.advisory_locks`.

If a call may have to wait, the session waits before the statement is compiled, since evaluating the call must not block
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from engine.session.context.advisory_locks import Key
from wire.errors import Notice

if TYPE_CHECKING:
    from engine.session.context.session_state import SessionState

Arguments = Sequence[Any]
_HALF: Final = 0xFFFFFFFF
#: For each function, whether the lock is shared, and whether it ends with the transaction.
WAITING: Final[Mapping[str, tuple[bool, bool]]] = {
    "pg_advisory_lock": (False, False),
    "pg_advisory_lock_shared": (True, False),
    "pg_advisory_xact_lock": (False, True),
    "pg_advisory_xact_lock_shared": (True, True),
}
_TRYING: Final[Mapping[str, tuple[bool, bool]]] = {
    name.replace("pg_", "pg_try_"): modes for name, modes in WAITING.items()
}
_RELEASING: Final[Mapping[str, bool]] = {"pg_advisory_unlock": False, "pg_advisory_unlock_shared": True}


def _key(arguments: Arguments) -> Key:
    if len(arguments) == 1:
        return arguments[0] >> 32 & _HALF, arguments[0] & _HALF, 1
    return arguments[0] & _HALF, arguments[1] & _HALF, 2


async def wait(session: SessionState, name: str, arguments: Arguments) -> None:
    """Take the lock of a call that is about to be evaluated. Raises DeadlockDetected, LockNotAvailable."""
    if None not in arguments:
        shared, transaction = WAITING[name]
        seconds = session.settings.time_ms("lock_timeout") / 1000
        await session.locks.wait(_key(arguments), shared=shared, transaction=transaction, seconds=seconds)


def _taken(shared: bool, transaction: bool) -> Callable[[SessionState, Arguments], Any]:
    def take(session: SessionState, arguments: Arguments) -> Any:
        if None not in arguments:
            session.locks.take(_key(arguments), shared=shared, transaction=transaction)
        return None

    return take


def _make_attempt(shared: bool, transaction: bool) -> Callable[[SessionState, Arguments], Any]:
    def attempt(session: SessionState, arguments: Arguments) -> Any:
        if None in arguments:
            return None
        return session.locks.attempt(_key(arguments), shared=shared, transaction=transaction)

    return attempt


def _make_release(shared: bool) -> Callable[[SessionState, Arguments], Any]:
    def release(session: SessionState, arguments: Arguments) -> Any:
        if None in arguments:
            return None
        had = session.locks.release(_key(arguments), shared=shared)
        if not had:
            kind = "ShareLock" if shared else "ExclusiveLock"
            session.client.notice(Notice(f"you don't own a lock of type {kind}", "WARNING", "01000"))
        return had

    return release


def _all_released(session: SessionState, _arguments: Arguments) -> Any:
    session.locks.release_all()


FUNCTIONS: Final[Mapping[str, Callable[[SessionState, Arguments], Any]]] = {
    **{name: _taken(*modes) for name, modes in WAITING.items()},
    **{name: _make_attempt(*modes) for name, modes in _TRYING.items()},
    **{name: _make_release(shared) for name, shared in _RELEASING.items()},
    "pg_advisory_unlock_all": _all_released,
}

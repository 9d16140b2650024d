"""One session's transaction: settings and catalog together, savepoints, and autocommit statements.

An autocommit statement waits for its turn and may run again (`engine.statements.dml.autocommit_retry`). This module
knows whether a statement is one, and releases its turn when the transaction ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from engine.catalog.conflicts import CONFLICTS
from engine.catalog.model.objects import Table
from engine.catalog.store.transaction import SessionCatalog
from engine.common.shielded import shielded
from engine.session.context.advisory_locks import SessionLocks
from engine.session.context.transaction_context import OutcomeT
from engine.settings.session_settings import SessionSettings
from engine.statements.ddl import on_commit
from engine.statements.dml.autocommit_retry import Lone, LoneDefinition, LoneStatement
from engine.statements.shared.deferral import Deferral
from wire.dataclass import dataclass
from wire.errors import InvalidSavepointSpecification, LockNotAvailable

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices

T = TypeVar("T")
#: The number of attempts of an autocommit statement that conflicts with commits of others.
_ATTEMPTS: Final = 20
#: The same for a definition, which takes little time and conflicts more often.
_DEFINING_ATTEMPTS: Final = 100


@dataclass(frozen=True, slots=True)
class _Savepoint:
    name: str
    settings: int
    catalog: Any
    deferral: Deferral
    locks: int


class SessionTransaction:
    """See the module's docstring. The session's owner begins and ends it; `engine.session.engine_session.EngineSession`
    has the contract of the methods. judge: checks deferred constraints.
    """

    def __init__(
        self,
        engine: EngineServices,
        settings: SessionSettings,
        catalog: SessionCatalog,
        locks: SessionLocks,
        judge: Callable[[], Awaitable[None]],
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._catalog = catalog
        self._locks = locks
        self._judge = judge
        #: The deferred constraints and their pending checks.
        self.deferral = Deferral()
        self._savepoints: list[_Savepoint] = []
        self._started: int | None = None
        #: Whether the transaction has executed a statement; its autocommit statement; whether that is a query; its
        #: turn.
        self._executed = False
        self._lone: Lone | None = None
        self._lone_query = False
        self._turn: asyncio.Lock | None = None

    def now(self) -> int:
        """Return the start of the transaction, or the current time outside of one, in microseconds since 1970."""
        return self._started or time.time_ns() // 1000

    # -- its statements ------------------------------------------------------------------------------------------

    def executes(self, *, single: bool, query: bool) -> bool:
        """Note that a statement is about to run. single: no other statement follows it. Returns whether it is all of
        the transaction.
        """
        alone, self._executed, self._lone = single and not self._executed, True, None
        self._lone_query = alone and query
        return alone

    async def take_turn(self, table: Table) -> None:
        """Wait for the turn of a table, and load what the statements before have committed."""
        await self._wait_turn(self._engine.turns.of(table.oid))
        await self._engine.see_commits()

    async def _wait_turn(self, turn: asyncio.Lock) -> None:
        self._turn = turn
        try:
            await turn.acquire()
        except BaseException:
            self._turn = None
            raise

    async def define(self, run: Callable[[], Awaitable[str]], *, waits: bool) -> str:
        """Run an autocommit definition, and run it again as long as commits of others conflict with it. Returns its
        tag. waits: whether repetitions wait for each other; not for a definition that may take long.

        Raises SqlError: LockNotAvailable if lock_timeout has passed.
        """
        deadline = self._deadline()

        async def attempt() -> str:
            tag = await run()
            await self._require_no_conflict()
            return tag

        tag = await self._until_it_fits(attempt, _DEFINING_ATTEMPTS, lambda: self._begin_again(deadline, waits=waits))
        self._lone = LoneDefinition(lambda: self._define_again(run, waits=waits), tag)
        return tag

    async def change(self, run: Callable[[], Awaitable[OutcomeT]]) -> OutcomeT:
        """Run an autocommit statement that changes rows, and run it again likewise. Raises SqlError."""
        told = await self._until_it_fits(run, _ATTEMPTS, self._begin_again)
        self._lone = LoneStatement(lambda: self._until_it_fits(run, _ATTEMPTS, self._begin_again), told)
        return told

    async def _until_it_fits(
        self, run: Callable[[], Awaitable[T]], attempts: int, begin_again: Callable[[], Awaitable[None]]
    ) -> T:
        """Run a statement, and run it again if commits of others since its beginning conflict with it. Raises SqlError."""
        for _ in range(attempts - 1):
            try:
                return await run()
            except CONFLICTS:
                await begin_again()
        return await run()

    async def _require_no_conflict(self) -> None:
        """Detect conflicts while the statement can still be repeated; the commit detects later ones."""
        if self._catalog.has_changes:
            await self._engine.see_commits()
            await self._engine.in_operation_pool(self._catalog.current)

    async def _begin_again(self, deadline: float | None = None, *, waits: bool = False) -> None:
        await self._end_catalog(self._catalog.rollback)
        self._catalog.begin()
        self.deferral = Deferral()
        await self._wait_turn_of_definitions(deadline, waits=waits)
        await self._engine.see_commits()
        if self._catalog.claims.needs_snapshot:
            await self._engine.in_operation_pool(self._catalog.claims.claim_snapshot)

    async def _define_again(self, run: Callable[[], Awaitable[str]], *, waits: bool) -> str:
        """Run a definition again after a failed commit."""
        await self._wait_turn_of_definitions(self._deadline(), waits=waits)
        await self._engine.see_commits()
        return await self.define(run, waits=waits)

    async def _wait_turn_of_definitions(self, deadline: float | None, *, waits: bool) -> None:
        """Wait for the turn of definitions, if the statement waits for it. Raises LockNotAvailable."""
        if deadline is not None and asyncio.get_running_loop().time() >= deadline:
            raise _lock_timeout()
        if waits and self._turn is None:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._wait_turn(self._engine.turns.of_definitions())
            except TimeoutError:
                raise _lock_timeout() from None

    def _deadline(self) -> float | None:
        """Return when lock_timeout passes for a wait that starts now, by the loop's clock; None without a timeout."""
        seconds = self._settings.time_ms("lock_timeout") / 1000
        return asyncio.get_running_loop().time() + seconds if seconds else None

    # -- its ends ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._started = time.time_ns() // 1000
        self._executed, self._lone, self._lone_query = False, None, False
        self._settings.begin()
        self._catalog.begin()
        self._savepoints = []
        self.deferral = Deferral()

    async def commit(self) -> None:
        try:
            await self._judge_deferred()
            if self._lone_query:
                self._catalog.tables.forget_guards()
            if self._catalog.temporary.due_at_commit():
                await self._engine.in_operation_pool(lambda: on_commit.act(self._catalog))
            if self._catalog.has_changes:
                await self._commit_changes()
            else:
                await self._end_catalog(self._catalog.commit)
        except BaseException:
            self._settings.rollback()
            raise
        finally:
            self._started = None
            self._end_turn()
            self._locks.end()
        self._settings.commit()

    async def _commit_changes(self) -> None:
        """Commit. After a conflict an autocommit statement runs again, as long as it has the result that its client was
        given.
        """
        lone, self._lone = self._lone, None
        attempts = 1 if lone is None else _DEFINING_ATTEMPTS if lone.definition else _ATTEMPTS
        for attempt in range(1, attempts + 1):
            try:
                await asyncio.wrap_future(self._engine.commits.commit(self._catalog))
                return
            except CONFLICTS:
                if lone is None or attempt == attempts:
                    raise
                self._catalog.begin()
                try:
                    await self._engine.see_commits()
                    if not await lone.repeats():
                        raise
                    await self._judge()
                except BaseException:
                    await self._end_catalog(self._catalog.rollback)
                    raise

    async def _judge_deferred(self) -> None:
        """Judge now what was deferred."""
        try:
            await self._judge()
        except BaseException:
            await self._end_catalog(self._catalog.rollback)
            raise

    async def rollback(self) -> None:
        self._started = None
        self.deferral = Deferral()
        try:
            await self._end_catalog(self._catalog.rollback)
        finally:
            self._settings.rollback()
            self._end_turn()
            self._locks.end()

    async def _end_catalog(self, end: Callable[[], None]) -> None:
        """End the catalog's transaction or a part of it. Files are removed on a thread: there may be thousands, on a disk
        that is slow.
        """
        if self._catalog.has_files:
            await shielded(self._engine.in_operation_pool(end))
        else:
            end()

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()

    # -- savepoints ----------------------------------------------------------------------------------------------

    def savepoint(self, name: str) -> None:
        settings, catalog = self._settings.savepoint(), self._catalog.savepoint()
        self._savepoints.append(_Savepoint(name, settings, catalog, self.deferral, self._locks.mark))

    async def rollback_to(self, name: str) -> None:
        index = self._find(name)
        point = self._savepoints[index]
        self._settings.rollback_to(point.settings)
        await self._end_catalog(lambda: self._catalog.rollback_to(point.catalog))
        self.deferral = point.deferral
        self._locks.end(point.locks)
        del self._savepoints[index + 1 :]

    def release(self, name: str) -> None:
        index = self._find(name)
        self._settings.release(self._savepoints[index].settings)
        del self._savepoints[index:]

    def _find(self, name: str) -> int:
        for index in reversed(range(len(self._savepoints))):
            if self._savepoints[index].name == name:
                return index
        raise InvalidSavepointSpecification(f'savepoint "{name}" does not exist')


def _lock_timeout() -> LockNotAvailable:
    return LockNotAvailable("canceling statement due to lock timeout")

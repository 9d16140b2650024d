"""One session's transaction: settings and catalog together, savepoints, and the statement that is all of it.

A statement of a transaction of its own waits for its turn and may run again (`engine.mutation.alone`); here is known whether a
statement is one, and its turn ends with the transaction.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.advisory_locks import SessionLocks
from engine.catalog.objects import Table
from engine.catalog.transaction import SessionCatalog
from engine.mutation.alone import LoneStatement
from engine.mutation.deferral import Deferral
from engine.settings import SessionSettings
from engine.utility import on_commit
from wire.errors import InvalidSavepointSpecification, SerializationFailure

if TYPE_CHECKING:
    from engine.engine import Engine

#: How often a statement that is a transaction of its own is begun where commits of others are in its way.
_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True)
class _Savepoint:
    name: str
    settings: int
    catalog: Any
    deferral: Deferral
    locks: int


class SessionTransaction:
    """Begun and ended by the session's owner, who knows when; `engine.api.EngineSession` has the contract of the methods.
    judge: works off what was deferred."""

    def __init__(
        self,
        engine: Engine,
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
        #: Constraints that are judged later than their statements.
        self.deferral = Deferral()
        self._savepoints: list[_Savepoint] = []
        self._started: int | None = None
        #: Whether it has executed a statement, the one that is all of it, whether that is a query, and the turn it has.
        self._executed = False
        self._lone: LoneStatement | None = None
        self._lone_query = False
        self._turn: asyncio.Lock | None = None

    def now(self) -> int:
        """When it began; outside of one the time. Microseconds since 1970."""
        return self._started or time.time_ns() // 1000

    # -- its statements ------------------------------------------------------------------------------------------

    def executes(self, *, single: bool, query: bool) -> bool:
        """A statement is about to run. single: none is to follow it. Returns whether it is all of the transaction."""
        alone, self._executed, self._lone = single and not self._executed, True, None
        self._lone_query = alone and query
        return alone

    async def take_turn(self, table: Table) -> None:
        """Wait for the turn of a table, and see what those before have committed."""
        self._turn = self._engine.turns.of(table.oid)
        try:
            await self._turn.acquire()
        except BaseException:
            self._turn = None
            raise
        await self._engine.see_commits()

    def ran_alone(self, statement: LoneStatement) -> None:
        """The statement that is all of the transaction has run."""
        self._lone = statement

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
                self._catalog.forget_guards()
            if self._catalog.due_at_commit():
                await self._engine.in_operation_pool(lambda: on_commit.act(self._catalog))
            if self._catalog.has_changes:
                await self._commit_changes()
            else:
                self._catalog.commit()
        except BaseException:
            self._settings.rollback()
            raise
        finally:
            self._started = None
            self._end_turn()
            self._locks.end()
        self._settings.commit()

    async def _commit_changes(self) -> None:
        """Commit; a statement that is all of its transaction again, as long as it comes to what its client was told."""
        lone, self._lone = self._lone, None
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._engine.in_operation_pool(self._catalog.commit)
                return
            except SerializationFailure:
                if lone is None or attempt == _ATTEMPTS:
                    raise
                self._catalog.begin()
                try:
                    await self._engine.see_commits()
                    if not lone.is_as_told(await lone.again()):
                        raise
                    await self._judge()
                except BaseException:
                    self._catalog.rollback()
                    raise

    async def _judge_deferred(self) -> None:
        """What is judged later is judged now."""
        try:
            await self._judge()
        except BaseException:
            self._catalog.rollback()
            raise

    def rollback(self) -> None:
        self._started = None
        self.deferral = Deferral()
        self._catalog.rollback()
        self._settings.rollback()
        self._end_turn()
        self._locks.end()

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()

    # -- savepoints ----------------------------------------------------------------------------------------------

    def savepoint(self, name: str) -> None:
        settings, catalog = self._settings.savepoint(), self._catalog.savepoint()
        self._savepoints.append(_Savepoint(name, settings, catalog, self.deferral, self._locks.mark))

    def rollback_to(self, name: str) -> None:
        index = self._find(name)
        point = self._savepoints[index]
        self._settings.rollback_to(point.settings)
        self._catalog.rollback_to(point.catalog)
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

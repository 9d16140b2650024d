"""Begins, commits and rolls back: executes the statements of a transaction block by the rules of
`server.session.transaction`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from engine.contracts.sessions import Execution
from engine.session.engine_session import EngineSession
from engine.sql.parser.nodes import statements as s
from server.cursors.portal import Portals
from server.session.done import Done
from server.session.notifications import Notifications, Said
from server.session.transaction import Block, Ending, TransactionBlock
from wire.errors import Notice, ObjectNotInPrerequisiteState

#: Statements that are let through in a failed transaction block.
EXITS: Final = (s.Commit, s.Rollback, s.RollbackTo, s.PrepareTransaction)


class TransactionControl:
    """One session's transaction. portals, notifications: the objects that end, or are sent, with it. The rest as for
    `Commands`.
    """

    def __init__(
        self,
        engine: EngineSession,
        portals: Portals,
        notifications: Notifications,
        warn: Callable[[Notice], None],
        undisturbed: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]],
        announce: Callable[[Sequence[Said]], None],
    ) -> None:
        self.block = TransactionBlock()
        self._engine = engine
        self._portals = portals
        self._notifications = notifications
        self._warn = warn
        self._undisturbed = undisturbed
        self._announce = announce

    def start(self, *, shared: bool) -> None:
        """Begin a transaction before a statement, unless one is open."""
        if self.block.start(shared=shared):
            self._engine.begin()

    async def finish_statement(self) -> None:
        """Commit an implicit transaction, after the last statement of a simple query, and at Sync."""
        if self.block.implicit:
            await self._end(commit=True)

    async def fail(self) -> None:
        """After an error, roll back an implicit transaction. An explicit block waits for the client; portals that it
        cannot use any more are closed.
        """
        if self.block.fail():
            await self._end(commit=False)
        else:
            await self._portals.fail(self.block.depth - 1)

    async def _end(self, *, commit: bool) -> None:
        if commit:
            await self._commit_engine()
        else:
            await self.roll_back_engine()
        await self._portals.end_transaction()

    async def _commit_engine(self) -> None:
        try:
            await self._portals.hold()
            await self._undisturbed(self._engine.commit)
        except BaseException:
            # A failed commit rolls back, even an explicit block.
            await self.roll_back_engine()
            await self._portals.end_transaction()
            raise
        self.block.end()
        if said := self._notifications.commit():
            self._announce(said)

    async def roll_back_engine(self) -> None:
        """End the block and roll back its changes; the caller ends its portals."""
        self.block.end()
        self._notifications.rollback()
        await self._undisturbed(self._engine.rollback)

    async def begin(self, statement: s.Begin) -> Execution:
        if warning := self.block.begin():
            self._warn(warning)
        for name, value in statement.modes:
            self._engine.settings.set(name, value, local=True)
        return Done("START TRANSACTION" if statement.text.lstrip()[:5].lower() == "start" else "BEGIN")

    async def commit(self, statement: s.Commit) -> Execution:
        return await self._finish(self.block.commit(chain=statement.chain))

    async def rollback(self, statement: s.Rollback) -> Execution:
        return await self._finish(self.block.rollback(chain=statement.chain))

    async def prepare(self, _statement: s.PrepareTransaction) -> Execution:
        """Refuse PREPARE TRANSACTION as with max_prepared_transactions = 0: the transaction is nevertheless ended
        (twophase.c, MarkAsPreparing).
        """
        prepares = self.block.block is Block.EXPLICIT
        done = await self._finish(self.block.rollback(chain=False))
        if not prepares:
            return done
        raise ObjectNotInPrerequisiteState(
            "prepared transactions are disabled", hint="Set max_prepared_transactions to a nonzero value."
        )

    async def _finish(self, ending: Ending) -> Execution:
        if ending.warning:
            self._warn(ending.warning)
        names = ("transaction_isolation", "transaction_read_only", "transaction_deferrable") if ending.chain else ()
        modes = [(name, self._engine.settings.get(name)) for name in names]
        await self._end(commit=ending.commit)
        if ending.chain:
            self.start(shared=False)
            self.block.begin()
            for name, value in modes:
                self._engine.settings.set(name, value, local=True)
        return Done(ending.tag)

    async def savepoint(self, statement: s.Savepoint) -> Execution:
        self.block.savepoint(statement.name)
        self._engine.savepoint(statement.name)
        self._notifications.savepoint()
        return Done("SAVEPOINT")

    async def release(self, statement: s.Release) -> Execution:
        depth = self.block.release(statement.name)
        self._engine.release(statement.name)
        self._notifications.release(depth)
        self._portals.release_savepoint(depth)
        return Done("RELEASE")

    async def rollback_to(self, statement: s.RollbackTo) -> Execution:
        depth = self.block.rollback_to(statement.name)
        await self._undisturbed(lambda: self._engine.rollback_to(statement.name))
        self._notifications.rollback_to(depth)
        await self._portals.end_savepoint(depth)
        return Done("ROLLBACK")

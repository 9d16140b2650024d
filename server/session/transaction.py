"""The transaction block of one session, as a machine: what each transaction statement does in each state.

The machine decides; `server.session.transaction_control` and `server.session.commands` act (they call the engine's
begin, commit and rollback, drop portals, send warnings). A method returns what is to be done, or raises PostgreSQL's
error.

    NONE      no transaction
    SINGLE    the transaction of one statement, or of a pipeline up to its Sync
    IMPLICIT  the block that several statements of one simple query share
    EXPLICIT  after BEGIN
    FAILED    an explicit block after an error: only ROLLBACK, COMMIT and ROLLBACK TO are let through

Source: PostgreSQL 15, xact.c (BeginTransactionBlock, EndTransactionBlock, UserAbortTransactionBlock, DefineSavepoint).
"""

from __future__ import annotations

import enum
from typing import Literal

from wire.dataclass import dataclass
from wire.errors import (
    ActiveSqlTransaction,
    InFailedSqlTransaction,
    InvalidSavepointSpecification,
    NoActiveSqlTransaction,
    Notice,
)


class Block(enum.Enum):
    NONE = "no transaction"
    SINGLE = "one statement's transaction"
    IMPLICIT = "implicit block"
    EXPLICIT = "explicit block"
    FAILED = "failed block"


@dataclass(frozen=True, slots=True)
class Ending:
    """The result of COMMIT or ROLLBACK. tag: the command tag. chain: a new block begins at once."""

    commit: bool
    tag: Literal["COMMIT", "ROLLBACK"]
    chain: bool = False
    warning: Notice | None = None


_NO_TRANSACTION = Notice("there is no transaction in progress", "WARNING", NoActiveSqlTransaction.default_sqlstate)
_ALREADY = Notice("there is already a transaction in progress", "WARNING", ActiveSqlTransaction.default_sqlstate)


class TransactionBlock:
    """See the module's docstring. `savepoints`: names from the outermost to the innermost; a name may occur twice."""

    def __init__(self) -> None:
        self.block = Block.NONE
        self.savepoints: list[str] = []

    @property
    def status(self) -> Literal["I", "T", "E"]:
        """The status byte of ReadyForQuery. It is sent between commands, when no implicit transaction is left."""
        if self.block is Block.FAILED:
            return "E"
        return "T" if self.block is Block.EXPLICIT else "I"

    @property
    def open(self) -> bool:
        """Whether the engine has a transaction."""
        return self.block is not Block.NONE

    @property
    def implicit(self) -> bool:
        """Whether the transaction ends by itself, since no BEGIN started it."""
        return self.block in (Block.SINGLE, Block.IMPLICIT)

    @property
    def single(self) -> bool:
        """Whether the transaction is one statement's, or a pipeline's."""
        return self.block is Block.SINGLE

    @property
    def in_block(self) -> bool:
        """Whether statements share a transaction, so that cursors may outlive one of them."""
        return self.block in (Block.IMPLICIT, Block.EXPLICIT, Block.FAILED)

    @property
    def depth(self) -> int:
        """The number of open savepoints. A portal is created at a depth, and ends when that savepoint is rolled back."""
        return len(self.savepoints)

    def start(self, *, shared: bool) -> bool:
        """Prepare for a statement. Returns whether the engine must begin a transaction. shared: with the other
        statements of a simple query.
        """
        if self.block is Block.NONE:
            self.block = Block.IMPLICIT if shared else Block.SINGLE
            return True
        if self.block is Block.SINGLE and shared:
            self.block = Block.IMPLICIT
        return False

    def require_usable(self) -> None:
        if self.block is Block.FAILED:
            raise InFailedSqlTransaction(
                "current transaction is aborted, commands ignored until end of transaction block"
            )

    def require_block(self, what: str) -> None:
        """Raise an error outside of a block: `what` makes sense only if statements share a transaction (xact.c,
        RequireTransactionBlock).
        """
        if not self.in_block:
            raise NoActiveSqlTransaction(f"{what} can only be used in transaction blocks")

    def require_no_block(self, what: str) -> None:
        """Raise an error within a block: `what` cannot be rolled back and must be alone (xact.c,
        PreventInTransactionBlock).
        """
        if self.in_block:
            raise ActiveSqlTransaction(f"{what} cannot run inside a transaction block")

    def outside_block_warning(self, what: str) -> Notice | None:
        if self.in_block:
            return None
        text = f"{what} can only be used in transaction blocks"
        return Notice(text, "WARNING", NoActiveSqlTransaction.default_sqlstate)

    def begin(self) -> Notice | None:
        """Execute BEGIN: make the current transaction an explicit block. Returns the warning, if any."""
        self.require_usable()
        if self.block is Block.EXPLICIT:
            return _ALREADY
        self.block = Block.EXPLICIT
        return None

    def commit(self, *, chain: bool) -> Ending:
        """Execute COMMIT. For a failed block it is a ROLLBACK, with that command tag."""
        if self.block is Block.FAILED:
            return Ending(False, "ROLLBACK", chain)
        if self.block is Block.EXPLICIT:
            return Ending(True, "COMMIT", chain)
        self._no_chain("COMMIT", chain)
        return Ending(True, "COMMIT", warning=_NO_TRANSACTION)

    def rollback(self, *, chain: bool) -> Ending:
        if self.block in (Block.EXPLICIT, Block.FAILED):
            return Ending(False, "ROLLBACK", chain)
        self._no_chain("ROLLBACK", chain)
        return Ending(False, "ROLLBACK", warning=_NO_TRANSACTION)

    @staticmethod
    def _no_chain(what: str, chain: bool) -> None:
        if chain:
            raise NoActiveSqlTransaction(f"{what} AND CHAIN can only be used in transaction blocks")

    def end(self) -> None:
        """Note that the engine's transaction has ended."""
        self.block = Block.NONE
        self.savepoints.clear()

    def fail(self) -> bool:
        """Note an error. Returns whether the transaction must be rolled back now; an explicit block waits for the
        client to end it.
        """
        if self.block is Block.EXPLICIT:
            self.block = Block.FAILED
        return self.implicit

    def _require_explicit(self, what: str) -> None:
        if self.block not in (Block.EXPLICIT, Block.FAILED):
            raise NoActiveSqlTransaction(f"{what} can only be used in transaction blocks")

    def savepoint(self, name: str) -> None:
        self._require_explicit("SAVEPOINT")
        self.require_usable()
        self.savepoints.append(name)

    def _find(self, name: str) -> int:
        for depth in range(len(self.savepoints) - 1, -1, -1):
            if self.savepoints[depth] == name:
                return depth
        raise InvalidSavepointSpecification(f'savepoint "{name}" does not exist')

    def release(self, name: str) -> int:
        """Execute RELEASE: forget the savepoint and all later ones. Returns the remaining depth."""
        self._require_explicit("RELEASE SAVEPOINT")
        self.require_usable()
        depth = self._find(name)
        del self.savepoints[depth:]
        return depth

    def rollback_to(self, name: str) -> int:
        """Execute ROLLBACK TO: the savepoint stays, later ones are forgotten, and a failed block is usable again.

        Returns the depth; portals created at a greater depth end.
        """
        self._require_explicit("ROLLBACK TO SAVEPOINT")
        depth = self._find(name)
        del self.savepoints[depth + 1 :]
        self.block = Block.EXPLICIT
        return depth

"""The part of a MUTATE's context that the checks of foreign keys use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from engine.catalog.model.objects import Constraint, Table
from engine.contracts.batch_stream import BatchStream
from engine.plan_ir.logical import Root
from engine.plan_ir.shown_columns import ShownColumns
from engine.sql.parser.nodes.statements import MutationStatement
from engine.statements.shared.deferral import Cause
from wire.types.text_settings import OutputSettings

T = TypeVar("T")


class KeyContext(Protocol):
    """The context of a check of keys. `engine.statements.dml.statement.SessionMutationContext` implements it."""

    @property
    def output(self) -> OutputSettings:
        """The settings by which messages print values."""

    def tables(self) -> list[Table]:
        """Return the tables that the session sees now."""

    def shown_columns(self, table: Table) -> ShownColumns:
        """Return the columns that messages may show."""

    def postpones(self, key: Constraint, cause: Cause = "key") -> bool:
        """Return whether a constraint is checked later than its statement, and if so record the check."""

    async def refresh(self, table: Table) -> Table:
        """Return the table with the files that it has now."""

    async def guard(self, table: Table, *, whole: bool) -> None:
        """Make the commit fail if another transaction changes the table: with `whole` its rows, otherwise its
        definition.
        """

    async def ask(self, plan: Root) -> BatchStream:
        """Run a query about the rows."""

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        """Run a call that blocks."""

    async def carry_out(self, statement: MutationStatement, tables: Mapping[str, Table]) -> None:
        """Run an internal statement that can also read these tables."""

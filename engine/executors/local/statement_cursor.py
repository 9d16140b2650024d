"""The cursor of one statement: the database in which the statement runs, and its result there.

`engine.executors.local.executor` describes the databases and the purpose of each.
"""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa

from engine.catalog.model.objects import are_in_memory
from engine.executors.local.database import LocalCursor, LocalDatabase
from engine.executors.local.role_databases import RoleDatabase
from engine.executors.local.small_files import Placed, SmallFiles
from engine.executors.local.statements import is_scan
from engine.executors.local.work import LocalWork
from engine.sql.trees.parameters import VALUES_ROW, row_of
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Databases:
    """The databases available to a statement. single: the one with one thread. small: the tables in memory there; None
    if this statement may not use them.
    """

    general: LocalDatabase | RoleDatabase
    single: LocalDatabase | RoleDatabase
    small: SmallFiles | None


class StatementCursor:
    """The cursor of one statement; see the module's docstring. It belongs to a thread of the pool while that runs a
    job of the stream.

    cursor: None before it is needed, and after the end. placed: the statement as it runs in the single-threaded
    database; None: it runs in the general one. reader: DuckDB's reader of the result.
    """

    def __init__(self, databases: Databases, work: LocalWork) -> None:
        self.databases = databases
        self.cursor: LocalCursor | None = None
        self.placed: Placed | None = None
        self.reader: Any = None
        self._work = work
        self._detaching = threading.Lock()

    def start(self, inputs: dict[str, pa.Table], read_rows: int, *, again: bool) -> None:
        """Begin to run the statement, in the database that suits it.

        inputs: relations in memory, removed from here as they are given to the cursor. read_rows: the number of rows
        that DuckDB returns at a time. again: whether the statement has failed in the general database.
        """
        work, statement = self._work, self._work.statement
        parameters = work.parameters if work.find is None else work.find()
        in_memory = False
        if self.cursor is None and not work.analyze:  # with a cursor, its inputs are large and stored where it will run
            small = self.databases.small
            if self._of_catalog():
                self.placed = Placed(statement, parameters)
            elif small is not None:
                self.placed = small.place(statement, parameters, inputs.values(), work.tree)
            in_memory = self.placed is not None
            if self.placed is None and (again or is_scan(statement, work.tree)):
                self.placed = Placed(statement, parameters)
        if self.placed is not None:
            statement, parameters = self.placed.statement, self.placed.parameters
        cursor = self.borrow()
        while inputs:
            cursor.hold(*inputs.popitem())
        if work.row:
            cursor.hold(VALUES_ROW, row_of(work.row))
        if work.analyze:
            cursor.profile()
        self.reader = cursor.run(statement, work.tables, read_rows, parameters, in_memory=in_memory)

    def _of_catalog(self) -> bool:
        """Return whether the statement reads the system catalog and nothing else."""
        return not self._work.inputs and are_in_memory(self._work.tables)

    @property
    def home(self) -> LocalDatabase | RoleDatabase:
        """The database in which the statement runs, or, before it runs, the one in which it is expected to run."""
        return self.databases.general if self.placed is None else self.databases.single

    def borrow(self) -> LocalCursor:
        """Return the statement's cursor, borrowing it if necessary."""
        if self.cursor is None:
            self.cursor = self.home.borrow(self._work.time_zone)
        return self.cursor

    def interrupt(self) -> None:
        """Interrupt the statement if it runs; may be called from any thread. The cursor cannot be returned meanwhile,
        so that the interrupt does not hit another statement that has borrowed it since.
        """
        with self._detaching:
            if self.cursor is not None:
                self.cursor.interrupt()

    def release(self, *, healthy: bool = True) -> None:
        """Release the result and the cursor. The memory of a half-read result is freed here, off the event loop's
        thread.
        """
        home = self.home
        with self._detaching:
            cursor, self.cursor, self.reader = self.cursor, None, None
        placed, self.placed = self.placed, None
        try:
            if cursor is not None:
                home.give_back(cursor, healthy=healthy and cursor.forget_inputs())
        finally:
            if placed is not None and (small := self.databases.small) is not None:
                small.release(placed)

"""The partitions of a cursor's rows: which of them were claimed, which reader is next, and the error with which all of
them end.

The rows are not divided beforehand. A reader of any partition gets the rows that come next in the query's order. So all
partitions together have each row once, no partition waits for another's reader, and no rows are kept for a partition
that nobody reads.

Rejected: a fixed share of the rows for each partition, round robin. The slowest reader, or one that never comes, would
hold up all others, or rows would be kept for it without bound. Source: docs/adr/0015-copy-by-partition.md.
"""

from __future__ import annotations

import asyncio

from wire.errors import InvalidParameterValue, ObjectNotInPrerequisiteState, SqlError


class Partitions:
    """query: its name in errors. statement: the digest of its text. count: the number of partitions.

    turn: held by the reader of a page; waiting readers get it in their order.
    """

    def __init__(self, query: str, statement: str, count: int) -> None:
        self.count = count
        self.turn = asyncio.Lock()
        self._query = query
        self._statement = statement
        self._asked: set[int] = set()
        self._error: SqlError | None = None

    def claim(self, partition: int, count: int, statement: str) -> None:
        """Claim a partition for a reader. Raises InvalidParameterValue, ObjectNotInPrerequisiteState."""
        self.require_statement(statement)
        if count != self.count:
            raise InvalidParameterValue(f'query "{self._query}" is read in {self.count} partitions and not in {count}')
        if partition in self._asked:
            raise ObjectNotInPrerequisiteState(
                f'partition {partition} of query "{self._query}" has been asked for before',
                hint="A partition is given once. Declare the cursor anew to read all partitions again.",
            )
        self._asked.add(partition)

    def require_statement(self, statement: str) -> None:
        """Raise InvalidParameterValue if the text differs from the query's."""
        if statement != self._statement:
            raise InvalidParameterValue(
                f'the statement differs from that of query "{self._query}"',
                hint="COPY a partition with the text of the query as it was declared.",
            )

    def fail(self, error: SqlError) -> None:
        """End all partitions with this error, unless they have ended with an earlier one."""
        if self._error is None:
            self._error = error

    def fail_unread(self, partition: int) -> None:
        """End all partitions because this one was not read to its end: the rows that it was given are lost."""
        self.fail(
            ObjectNotInPrerequisiteState(
                f'query "{self._query}" cannot be read on: partition {partition} of {self.count} was not read to its end',
                hint="Declare the cursor anew and read all partitions again.",
            )
        )

    def require_unbroken(self) -> None:
        """Raise the error with which all partitions have ended, if they have."""
        if self._error is not None:
            raise self._error.with_traceback(None)

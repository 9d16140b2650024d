"""The sequence functions of a session: nextval, currval, setval, lastval, and values for the rows of a statement.

Values come from the catalog database, outside of every transaction. One request takes as many as a statement needs, or
as the sequence's CACHE says, if that is more. Values that a session has taken and not used are lost when it ends, as in
PostgreSQL.

Source: PostgreSQL 15, sequence.c.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from engine.catalog.model.counters import Block, Count
from engine.catalog.model.objects import Sequence
from engine.catalog.store.store import CatalogStore
from wire.errors import NumericValueOutOfRange, ObjectNotInPrerequisiteState


class SessionSequences:
    """The sequence values of a session; one statement uses it at a time. Methods other than `note`, `last_given`,
    `current` and `last` may block on the catalog database.
    """

    def __init__(self, store: CatalogStore) -> None:
        self._store = store
        #: Values taken and not used yet, by counter.
        self._held: dict[int, Block] = {}
        #: The last value that each sequence gave here, by OID; the last one is the newest.
        self._given: dict[int, int] = {}

    def next(self, sequence: Sequence) -> int:
        """Run nextval. Raises SequenceGeneratorLimitExceeded."""
        block = self._block(sequence, 1)
        self.note(sequence, block.first)
        return block.first

    def take(self, sequence: Sequence, count: int) -> npt.NDArray[np.int64]:
        """Return values for `count` rows. Raises SequenceGeneratorLimitExceeded if there are not as many."""
        blocks = list(self._blocks(sequence, count))
        if blocks:
            self.note(sequence, blocks[-1].last)
        values = [np.arange(b.count, dtype=np.int64) * b.increment + b.first for b in blocks]
        return np.concatenate(values) if values else np.empty(0, np.int64)

    def _blocks(self, sequence: Sequence, count: int) -> Iterator[Block]:
        while count > 0:
            block = self._block(sequence, count)
            count -= block.count
            yield block

    def _block(self, sequence: Sequence, count: int) -> Block:
        """Return at most `count` values: those that are held, otherwise new ones, of which the rest is held."""
        held = self._held.pop(sequence.counter, None)
        block = held or self._store.advance(sequence, max(count, sequence.cache))
        if block.count <= count:
            return block
        rest = Block(block.first + block.increment * count, block.increment, block.count - count)
        self._held[sequence.counter] = rest
        return Block(block.first, block.increment, count)

    def note(self, sequence: Sequence, value: int) -> None:
        """Record the last value that a sequence gave here, or elsewhere for a statement of this session."""
        self._given.pop(sequence.oid, None)
        self._given[sequence.oid] = value

    def last_given(self, sequence: Sequence) -> int | None:
        """Return the last value that the sequence gave to this session, if any."""
        return self._given.get(sequence.oid)

    def current(self, sequence: Sequence) -> int:
        """Run currval. Raises ObjectNotInPrerequisiteState."""
        if sequence.oid not in self._given:
            raise ObjectNotInPrerequisiteState(
                f'currval of sequence "{sequence.name}" is not yet defined in this session'
            )
        return self._given[sequence.oid]

    def last(self) -> int:
        """Run lastval. Raises ObjectNotInPrerequisiteState."""
        if not self._given:
            raise ObjectNotInPrerequisiteState("lastval is not yet defined in this session")
        return next(reversed(self._given.values()))

    def set(self, sequence: Sequence, value: int, called: bool) -> int:
        """Run setval. Raises NumericValueOutOfRange."""
        if not sequence.minimum <= value <= sequence.maximum:
            bounds = f"{sequence.minimum}..{sequence.maximum}"
            raise NumericValueOutOfRange(
                f'setval: value {value} is out of bounds for sequence "{sequence.name}" ({bounds})'
            )
        self._held.pop(sequence.counter, None)
        self._store.set_counter(sequence, Count(value, called))
        if called:
            self._given[sequence.oid] = value
        return value

    def stands(self, sequence: Sequence) -> int:
        """Return the sequence's last_value."""
        return self._store.read_sequence(sequence).value

    def discard(self) -> None:
        """Run DISCARD SEQUENCES."""
        self._held.clear()
        self._given.clear()

"""The arithmetic of sequences: the next values of a counter, and the counter after them.

A counter is a value and whether the value was already returned, as in PostgreSQL (`last_value`, `is_called`). Values
are taken in blocks: a statement that needs a thousand asks once. Counters are not transactional: a value is never
returned twice (until CYCLE), whatever the outcome of the statement that took it.

Source: PostgreSQL 15, sequence.c (nextval_internal, do_setval).
"""

from __future__ import annotations

from engine.catalog.model.objects import Sequence
from wire.dataclass import dataclass
from wire.errors import SequenceGeneratorLimitExceeded


@dataclass(frozen=True, slots=True)
class Count:
    """The state of a counter. value: the last value returned, or the next one if it was not `called` yet."""

    value: int
    called: bool


@dataclass(frozen=True, slots=True)
class Block:
    """A block of values: `first`, `first + increment` ... , `count` of them. They belong to the caller that took the
    block.
    """

    first: int
    increment: int
    count: int

    @property
    def last(self) -> int:
        return self.first + self.increment * (self.count - 1)


def advance(sequence: Sequence, at: Count | None, count: int) -> tuple[Block, Count]:
    """Return the next values, at most `count`, and the counter after them. There are fewer values if the sequence ends
    or cycles. at: None before the first use.

    Raises SequenceGeneratorLimitExceeded if there is no further value.
    """
    assert count > 0
    first = _next(sequence, at)
    step = sequence.increment
    room = (sequence.maximum - first) // step if step > 0 else (first - sequence.minimum) // -step
    block = Block(first, step, min(count, room + 1))
    return block, Count(block.last, called=True)


def _next(sequence: Sequence, at: Count | None) -> int:
    if at is None or not at.called:
        return sequence.first if at is None else at.value
    value = at.value + sequence.increment
    if sequence.minimum <= value <= sequence.maximum:
        return value
    up = sequence.increment > 0
    if sequence.cycle:
        return sequence.minimum if up else sequence.maximum
    which, bound = ("maximum", sequence.maximum) if up else ("minimum", sequence.minimum)
    raise SequenceGeneratorLimitExceeded(f'nextval: reached {which} value of sequence "{sequence.name}" ({bound})')

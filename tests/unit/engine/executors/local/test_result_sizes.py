"""The bytes of long results that are made at the same time are bounded."""

from __future__ import annotations

import pytest

from engine.executors.local.result_sizes import BATCH_BYTES_MAX, TEXT_BYTES_MAX, Reservations
from wire.errors import OutOfMemory


def test_a_batch_is_bounded_and_a_single_text_is_not() -> None:
    reservations = Reservations(lambda: 0.0)
    reservations.reserve(BATCH_BYTES_MAX, 1000, 1)
    with pytest.raises(OutOfMemory):
        reservations.reserve(BATCH_BYTES_MAX + 1, 1000, 1)
    reservations.reserve(TEXT_BYTES_MAX, TEXT_BYTES_MAX, 1)


def test_batches_of_other_threads_count_for_a_while() -> None:
    now = [0.0]
    reservations = Reservations(lambda: now[0])
    for _ in range(3):
        reservations.reserve(TEXT_BYTES_MAX, TEXT_BYTES_MAX, 1)
    reservations.reserve(TEXT_BYTES_MAX, TEXT_BYTES_MAX, 2)
    with pytest.raises(OutOfMemory):
        reservations.reserve(1, 1, 3)
    now[0] = 60.0
    reservations.reserve(TEXT_BYTES_MAX, TEXT_BYTES_MAX, 3)

"""Freed memory that the C library retains is returned to the system."""

from __future__ import annotations

import ctypes
import threading

import psutil
import pytest
from support.member_process import wait_until

from server.common import unused_memory
from server.common.unused_memory import UnusedMemory

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library has nothing that gives memory back"
)
_MIB = 1 << 20


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


def test_what_was_freed_between_what_is_in_use_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unused_memory, "_SECONDS", 0.01)
    # Pieces of less than what is mapped by itself, and of more than a page, so that those that are freed make up free pages.
    pieces = [bytes(40_000) for _ in range(4000)]
    del pieces[::2]
    before = _resident()
    unused = UnusedMemory()
    unused.start()
    try:
        wait_until(lambda: _resident() < before - 40 * _MIB)
    finally:
        unused.close()
    assert len(pieces) == 2000


def test_it_ends_at_once() -> None:
    unused = UnusedMemory()
    unused.start()
    unused.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "sluice-trim"]

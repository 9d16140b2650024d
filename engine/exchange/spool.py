"""Spool files: batches that a receiver writes to disk so that their sender can continue.

Each stream has one append-only file, which never has a name, so nothing is left however the process ends. All files of
a member share one budget of bytes and one writer thread, so that a slow disk delays only the streams that spool. The
module is used by `engine.exchange.receive`; `engine.exchange.slots` decides when to spool.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

from engine.common.os_errors import kind_of
from wire.errors import IoError, SqlError

#: A member's budget, equal to what one query may spool by default (`sluice.spool_limit`).
_BYTES_MAX: Final = 16 << 30


class Place(NamedTuple):
    """The position of a batch in its stream's spool file."""

    offset: int
    length: int


class Spooler:
    """A member's spool: the budget and the thread that its files share.

    directory: the folder in which the files are made. bytes_max: the budget on disk. threads: an executor that runs one
    call at a time; None: one of its own.
    """

    def __init__(self, directory: Path, bytes_max: int = _BYTES_MAX, *, threads: Executor | None = None) -> None:
        self.bytes_max = bytes_max
        self.bytes_used = 0
        self.bytes_written = 0
        self.files = 0
        self._directory = directory
        self._threads = threads or ThreadPoolExecutor(1, thread_name_prefix="sluice-spool")

    async def create(self) -> SpoolFile:
        """Create an empty file. Raises SqlError."""
        handle = await asyncio.get_running_loop().run_in_executor(self._threads, _create_file, self._directory)
        return SpoolFile(self, self._threads, handle)

    def statistics(self) -> Mapping[str, int]:
        """Return the metrics. bytes, files: on disk now. bytes_max: the budget. written: since the member's start."""
        return {
            "bytes": self.bytes_used,
            "files": self.files,
            "bytes_max": self.bytes_max,
            "written_bytes": self.bytes_written,
        }

    def covers(self, size: int) -> bool:
        return self.bytes_used + size <= self.bytes_max

    def close(self) -> None:
        """End the thread. No file may be in use."""
        self._threads.shutdown()


class SpoolFile:
    """One stream's file. Its reads and writes run one after the other on the spooler's thread."""

    def __init__(self, spooler: Spooler, threads: Executor, handle: FileIO) -> None:
        self._spooler = spooler
        self._threads = threads
        self._handle = handle
        self._end = 0
        spooler.files += 1

    async def write(self, body: bytearray) -> Place:
        """Append a batch. Raises DiskFull or IoError."""
        place = Place(self._end, len(body))
        self._end += len(body)
        self._spooler.bytes_used += len(body)
        self._spooler.bytes_written += len(body)
        await asyncio.get_running_loop().run_in_executor(self._threads, _write_all, self._handle, body, place.offset)
        return place

    async def read(self, place: Place) -> bytearray:
        """Read a batch that was written. Raises IoError."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, _read_all, self._handle, place)

    async def close(self) -> None:
        """Release the file and its share of the budget, after the reads and writes in progress."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._handle.close)
        finally:
            self._spooler.bytes_used -= self._end
            self._end = 0
            self._spooler.files -= 1


def _create_file(directory: Path) -> FileIO:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Unbuffered and unnamed: positions are explicit, and the file ends with its descriptor.
        return tempfile.TemporaryFile(dir=directory, buffering=0)
    except OSError as error:
        raise _translate_error(error) from error


def _write_all(handle: FileIO, body: bytearray, offset: int) -> None:
    rest = memoryview(body)
    try:
        while rest:
            count = os.pwrite(handle.fileno(), rest, offset)
            rest, offset = rest[count:], offset + count
    except OSError as error:
        raise _translate_error(error) from error


def _read_all(handle: FileIO, place: Place) -> bytearray:
    body = bytearray(place.length)
    rest, offset = memoryview(body), place.offset
    try:
        while rest:
            count = os.preadv(handle.fileno(), [rest], offset)
            if count == 0:
                raise IoError("could not read from a spool file: it ended early")
            rest, offset = rest[count:], offset + count
    except OSError as error:
        raise _translate_error(error) from error
    return body


def _translate_error(error: OSError) -> SqlError:
    return kind_of(error)(f"could not use a spool file: {error.strerror}")

"""Sizes and modification times of the files of foreign tables, as their last listings found them.

Caches of what was read from a file use the file's stamp in their key, so that a file that was replaced is read again
and the others of its folder are not. Each listing records the stamps of its files (`note_listing`). A lookup asks the
file system only for files that no listing has recorded, or whose record is too old.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from engine.catalog.model.objects import Table
from engine.lakes import stores

#: The maximal number of cached stamps, for all listings together, at some 200 bytes each.
_FILES_MOST: Final = 1 << 18


#: A file that changed a moment ago may change again within one tick of the file system's clock (milliseconds).
_SETTLED_NS: Final = 2_000_000_000


def is_settled(changed: int) -> bool:
    """Whether a later change of a file or folder will show in its modification time. changed: that time, in nanoseconds."""
    return time.time_ns() - changed > _SETTLED_NS


class FileStamp(NamedTuple):
    """A file's stamp. size: its bytes. changed: its modification time, as the file system or the store reports it."""

    size: int
    changed: int | str


_LISTINGS: Final[OrderedDict[str, Mapping[str, FileStamp]]] = OrderedDict()
_LOCK: Final = threading.Lock()


def note_listing(path: str, stamps: Mapping[str, FileStamp]) -> None:
    """Record the stamps of the files that were found at a path, in place of earlier ones."""
    with _LOCK:
        _LISTINGS[path] = stamps
        _LISTINGS.move_to_end(path)
        while len(_LISTINGS) > 1 and sum(map(len, _LISTINGS.values())) > _FILES_MOST:
            _LISTINGS.popitem(last=False)


def stamps_of(table: Table) -> Callable[[str], FileStamp | None]:
    """Return a function that maps a file of a foreign table to its stamp, or to None if there is no such file."""
    paths = [part.path for part in table.parts if part.here] if table.parts else [table.path]
    with _LOCK:
        told = [_LISTINGS[path] for path in paths if path in _LISTINGS]

    def stamp(file: str) -> FileStamp | None:
        for listing in told:
            if (found := listing.get(file)) is not None:
                return found
        return _stamp_now(file)

    return stamp


def _stamp_now(file: str) -> FileStamp | None:
    if stores.is_remote(file):
        return None
    try:
        status = os.stat(file)
    except OSError:
        return None
    return FileStamp(status.st_size, status.st_mtime_ns)

"""The identity of a catalog's file: whether its path still leads to the file that a member's connections have open.

A file that is removed or replaced lives on while a process has it open: SQLite goes on writing to it, every commit is
durable there, and all of them are lost with the last connection. A member therefore compares the file at the path
(device and inode number) with the one that it has opened, at every transaction and before it reads. It does the same
for the write-ahead log and its index beside the file: SQLite removes them only with the last connection, so they stay
the same while one is open.

The check asks the file system each time and remembers no failure: if the same file is put back, the member continues.
PostgreSQL guards its data directory in the same way and shuts down (postmaster.c, RecheckDataDirLockFile). A member
does not shut down, since some of its clients' statements need no catalog.

The check does not notice a file that is overwritten in place (`cp` onto it), which keeps its inode number. The checks
of the file's content do (`engine.catalog.store.sqlite`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from wire.errors import StatementCompletionUnknown, UndefinedFile

#: The suffixes of the file itself, and of the files that SQLite keeps beside it in WAL mode.
PARTS: Final = ("", "-wal", "-shm")
_HINT: Final = (
    "Put back the file that was there, with its -wal and -shm; or end all members that use the path and start them again: they "
    "take what is there then."
)
_Identity = tuple[int, int]


class CatalogFile:
    """The file that the connections have open. It is made when they have used the file. Raises UndefinedFile if the
    file is gone already.
    """

    def __init__(self, path: Path) -> None:
        self._opened = {f"{path}{part}": _identity(f"{path}{part}") for part in PARTS}
        self._path = path
        self.require_present()

    def require_present(self) -> None:
        """Raise UndefinedFile if the path does not lead to the opened file. Takes some microseconds."""
        for path, opened in self._opened.items():
            if opened is None or _identity(path) != opened:
                raise UndefinedFile(f"{self._replaced_text(path)}; nothing was changed", hint=_HINT)

    def require_committed(self) -> None:
        """Check the file after a commit, as `require_present` does. Raise StatementCompletionUnknown if it is not the
        opened one, since the commit may have gone to the other file.
        """
        try:
            self.require_present()
        except UndefinedFile as error:
            raise StatementCompletionUnknown(
                f"the catalog in {self._path} was removed or replaced during a commit",
                hint="Look whether the change took place before you repeat it.",
            ) from error

    def _replaced_text(self, path: str) -> str:
        what = "the catalog in" if path == str(self._path) else "a part of the catalog,"
        return f"{what} {path} was removed or replaced while this member has it open"


def _identity(path: str) -> _Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino

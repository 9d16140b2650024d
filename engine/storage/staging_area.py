"""The folder for files that other processes write for a statement, and how the statement closes it.

A writer may outlive its statement: a killed Spark task continues until it checks, and a worker or member that cannot be
reached any more continues indefinitely. So such writers do not write into the table's folder. Each statement has a
folder of its own there, `_staging-<mark>`, which Delta's readers ignore. The files that the statement's intents name
are moved into the table when all writers have reported theirs; then the folder is removed with everything else in it. A
writer that comes later finds no folder in which to create a file: this is the fence, and it needs no message that could
be lost.

A rename keeps a file's bytes and name, so intents give the paths as they will be in the table. VACUUM removes what a
crash leaves.

Rejected: writing into the table's folder under names with the statement's mark, and removing the files that nothing
named. A file that a killed task had not yet created at that moment stayed until the next VACUUM.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from engine.catalog.model.objects import DataFile
from engine.storage import disk
from engine.storage.durable import sync
from wire.errors import IoError

SEE_THE_SAME_FOLDER: Final = "Whoever writes files of a table has to see the same folder of tables as the members."


#: The names of the folders.
NAME: Final = re.compile(r"_staging-[0-9a-f]{16}")


def new_name() -> str:
    """Return a unique name for a new area."""
    return f"_staging-{uuid.uuid4().hex[:16]}"


class StagingArea:
    """A statement's staging folder. table: the table's folder. name: the area's name in it. Every method blocks on the
    disk.
    """

    def __init__(self, table: Path, name: str) -> None:
        self._table = table
        self._moved: list[Path] = []
        self.path = table / name

    def make(self) -> None:
        """Create the folder. Raises IoError."""
        try:
            disk.current_disk().make_folder(self.path)
        except OSError as error:
            raise IoError(f'could not create "{self.path}": {error.strerror or error}') from error

    def paths(self) -> Iterator[Path]:
        """Yield the files and the folder itself, which are touched so that VACUUM does not take them for orphans."""
        yield self.path
        # `os.walk` skips what is removed meanwhile.
        for folder, _, names in os.walk(self.path):
            yield from (Path(folder, name) for name in names)

    def keep(self, files: Sequence[DataFile]) -> None:
        """Move these files into the table, durably, and close the area. Raises IoError; the caller must then `abandon`
        the area.
        """
        try:
            for file in files:
                self._move(file)
            for folder in {parent for path in self._moved for parent in self._parents(path)}:
                sync(folder)
        except OSError as error:
            raise IoError(f'could not move files to "{self._table}": {error.strerror or error}') from error
        self._shut()

    def abandon(self) -> None:
        """Close the area, and remove files that were already moved into the table. Raises IoError."""
        for path in self._moved:
            # VACUUM removes what cannot be removed here.
            with contextlib.suppress(OSError):
                disk.current_disk().remove(path)
        self._shut()

    def _shut(self) -> None:
        """Remove the area with everything in it, so that nothing can be added any more."""
        while self.path.exists():
            try:
                disk.current_disk().remove_tree(self.path)
            except FileNotFoundError:
                # A writer has removed its own file meanwhile.
                continue
            except OSError as error:
                # A writer has created a file meanwhile, which each writer does only a few times.
                if error.errno != errno.ENOTEMPTY:
                    raise IoError(f'could not remove "{self.path}": {error.strerror or error}') from error

    def _move(self, file: DataFile) -> None:
        staged, path = self.path / file.path, self._table / file.path
        with contextlib.suppress(FileNotFoundError):
            if staged.stat().st_size == file.size:
                disk.current_disk().make_folders(path.parent)
                disk.current_disk().rename(staged, path)
                self._moved.append(path)
                return
        raise IoError(f'a file that was written elsewhere is not there: "{staged}"', hint=SEE_THE_SAME_FOLDER)

    def _parents(self, path: Path) -> Iterator[Path]:
        """Yield the folders that have new entries, up to the table's."""
        for folder in path.parents:
            yield folder
            if folder == self._table:
                return

"""Files that this process has written below the folder of tables and that the catalog does not name yet. VACUUM does
not treat them as orphans.

They are the files of running statements and open transactions, and the folders of tables that were created and not
committed, or that are temporary. A file counts until a commit has named it, or else for as long as its writer or its
description is referenced: a statement can end in too many ways for each of them to deregister its files.

Members do not tell each other about their in-flight files. Instead each touches its own every few minutes (`Keeper`),
so that they look recent to every member, and VACUUM leaves recent files alone. Rejected: recording them in the catalog
database, which would cost each INSERT a second transaction there; asking all members, which fails if one cannot be
reached at that moment.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from engine.catalog.model.objects import DataFile
from engine.common.supervised import Supervised
from engine.storage import disk
from engine.storage.file_clock import FILE_CLOCK, TOUCH_SECONDS


class Writing(Protocol):
    """A file that is being written."""

    path: Path


class Elsewhere(Protocol):
    """Files that other processes write for a statement of this member, which may run for hours (`StagingArea`)."""

    def paths(self) -> Iterable[Path]:
        """Return the files and folders that exist."""
        ...


class Session(Protocol):
    """The catalog of a session."""

    def own_folders(self) -> Collection[str]:
        """Return the locations of tables that only this session knows."""
        ...

    def contested_folders(self) -> Collection[str]:
        """Return the locations of tables on whose rows this session's open transaction depends, so that other commits
        may make it fail.
        """
        ...


class InFlightFiles:
    """The in-flight files and folders of the process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writing: weakref.WeakSet[Writing] = weakref.WeakSet()
        self._staged: weakref.WeakValueDictionary[str, DataFile] = weakref.WeakValueDictionary()
        self._elsewhere: weakref.WeakSet[Elsewhere] = weakref.WeakSet()
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self._founded: set[str] = set()

    def write(self, file: Writing) -> None:
        """Register a file that begins to be written."""
        with self._lock:
            self._writing.add(file)

    def stage(self, path: Path, file: DataFile) -> None:
        """Register a written file for as long as its description `file` is referenced, so that it may still be
        committed.
        """
        with self._lock:
            self._staged[str(path)] = file

    def watch(self, elsewhere: Elsewhere) -> None:
        """Register files that other processes begin to write; they count for as long as `elsewhere` is referenced."""
        with self._lock:
            self._elsewhere.add(elsewhere)

    def forget(self, paths: Iterable[Path]) -> None:
        """Deregister files that a commit has made part of the catalog."""
        with self._lock:
            for path in paths:
                self._staged.pop(str(path), None)

    def join(self, session: Session) -> None:
        with self._lock:
            self._sessions.add(session)

    @contextmanager
    def protect_new_folder(self, location: str) -> Iterator[None]:
        """Register a table's folder while it is being made, before any session has it."""
        with self._lock:
            self._founded.add(location)
        try:
            yield
        finally:
            with self._lock:
                self._founded.remove(location)

    def files(self) -> set[str]:
        """Return the absolute paths of all in-flight files."""
        with self._lock:
            known = {str(file.path) for file in self._writing} | set(self._staged.keys())
            elsewhere = list(self._elsewhere)
        return known.union(str(path) for written in elsewhere for path in written.paths())

    def folders(self) -> set[str]:
        """Return the locations of tables that only sessions of this process know."""
        with self._lock:
            sessions, founded = list(self._sessions), set(self._founded)
        return founded.union(*(session.own_folders() for session in sessions))

    def contested_folders(self) -> set[str]:
        """Return the locations of tables on whose rows any session's open transaction depends."""
        with self._lock:
            sessions = list(self._sessions)
        return {location for session in sessions for location in session.contested_folders()}


IN_FLIGHT_FILES: Final = InFlightFiles()


class Keeper:
    """Touches the in-flight files, in a thread of its own, until it is closed. root: the folder of tables."""

    def __init__(self, root: Path, supervised: Supervised | None = None) -> None:
        self._root = root
        self._supervised = supervised or Supervised("keeper")
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="sluice-keeper", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(self._supervised.pause or TOUCH_SECONDS):
            self._supervised.attempt(self.touch)

    def touch(self) -> None:
        # It notices jumps only if it is read now and then.
        FILE_CLOCK.now()
        paths = [Path(file) for file in IN_FLIGHT_FILES.files()] + [
            self._root / location for location in IN_FLIGHT_FILES.folders()
        ]
        for path in paths:
            # The file has been removed meanwhile.
            with contextlib.suppress(OSError):
                disk.current_disk().touch(path)

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

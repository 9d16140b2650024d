"""The files of COPY: where they may be, and how they are read as a client's bytes.

The server's own files cannot be copied: the catalog, spool files, stored tables. Nor can the data directory as a whole,
in which an operator may keep configuration and logs: clients have one folder of it, unless the configuration gives them
others. All paths are resolved first, links and `..` included, and the resolved path is opened. A folder of the path
that is replaced by a link meanwhile is noticed: the file's folder is opened, must be at the path, and the file is
opened, made and renamed within it. (Someone who may change folders below the roots may still move an open one out of
them.)

Only regular files are read and replaced. PostgreSQL also opens FIFOs and devices, and waits for the other end of a FIFO
where neither a cancel nor `statement_timeout` reaches it; here that would block a thread that all sessions share.
Opening a file never waits (O_NONBLOCK, which has no effect on a regular file), and the open file is examined, not the
path.

Source: PostgreSQL 15, copyfrom.c (BeginCopyFrom), copyto.c (BeginCopyTo).
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from engine.common.shielded import shielded
from wire.dataclass import dataclass
from wire.errors import InsufficientPrivilege, InvalidName, IoError, SqlError, UndefinedFile, WrongObjectType

_PIECE_BYTES: Final = 1 << 20
_HINT: Final = (
    "COPY {direction} instructs the PostgreSQL server process to {verb} a file. You may want a client-side facility such as "
    "psql's \\copy."
)

#: Runs a call that may block, on a thread.
InPool = Callable[[Callable[[], Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class CopyRoots:
    """The folders that files of COPY must be in. roots: these folders; relative paths start at the first. kept: files
    and folders in them that belong to the server.
    """

    roots: tuple[Path, ...]
    kept: tuple[Path, ...]

    def source(self, path: str) -> Path:
        """Return the path of a file that COPY FROM may read. Raises InsufficientPrivilege; may block."""
        return self._resolve(path)

    def target(self, path: str) -> Path:
        """Return the path of a file that COPY TO may write. Raises InvalidName, InsufficientPrivilege, WrongObjectType;
        may block.
        """
        found = self._new(path)
        with suppress(OSError):
            _require_regular(os.stat(found), path)
        return found

    def target_folder(self, path: str) -> Path:
        """Return the path of a folder that COPY TO may make. Raises InvalidName, InsufficientPrivilege, IoError for one
        that is not empty; may block.
        """
        found = self._new(path)
        try:
            if found.exists() and any(found.iterdir()):
                raise IoError(f'could not write folder "{path}": it is not empty')
        except NotADirectoryError as error:
            raise IoError(f'could not write folder "{path}": {error.strerror}') from None
        return found

    def _new(self, path: str) -> Path:
        if not os.path.isabs(path):
            raise InvalidName("relative path not allowed for COPY to file")
        found = self._resolve(path)
        if found.parent == Path(os.path.realpath(self.roots[0])):
            found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def _resolve(self, path: str) -> Path:
        found = Path(os.path.realpath(self.roots[0] / path))
        allowed = any(found.is_relative_to(os.path.realpath(root)) for root in self.roots)
        if not allowed or any(found.is_relative_to(os.path.realpath(folder)) for folder in self.kept):
            raise _outside(path)
        return found


def _outside(path: str) -> InsufficientPrivilege:
    return InsufficientPrivilege(
        f'path "{path}" lies outside the folders that COPY may use',
        hint="The member's configuration names them under copy_roots. Clients' own files go through COPY FROM STDIN "
        "and TO STDOUT, as with psql's \\copy.",
    )


def _folder(path: Path, shown: str) -> int:
    """Open the folder of a resolved path, and return its descriptor. Raises InsufficientPrivilege if the path leads
    elsewhere by now, and OSError.
    """
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    # Check the folder that the descriptor refers to, not the one that the name refers to by now.
    if os.readlink(f"/proc/self/fd/{descriptor}") != str(path.parent):
        os.close(descriptor)
        raise _outside(shown)
    return descriptor


def _require_regular(status: os.stat_result, shown: str) -> None:
    """Raise WrongObjectType unless the file is a regular one."""
    if stat.S_ISDIR(status.st_mode):
        raise WrongObjectType(f'"{shown}" is a directory')
    if not stat.S_ISREG(status.st_mode):
        raise WrongObjectType(
            f'"{shown}" is not a regular file',
            detail="COPY neither reads nor writes FIFOs, sockets and devices of the server.",
            hint="Rows from and to other programs go through COPY FROM STDIN and TO STDOUT, as with psql's \\copy.",
        )


class FileRows:
    """An `engine.statements.copy.source.RowSource` over an open file. size: the file's size in bytes."""

    def __init__(self, file: BinaryIO, in_pool: InPool) -> None:
        self.size = os.fstat(file.fileno()).st_size
        self._file = file
        self._in_pool = in_pool

    async def next_piece(self, pause: float | None = None) -> bytes | None:
        piece: bytes = await shielded(self._in_pool(lambda: self._file.read(_PIECE_BYTES)))
        return piece or None

    async def close(self) -> None:
        await shielded(self._in_pool(self._file.close))


def open_file(path: Path, shown: str) -> BinaryIO:
    """Open a file for reading. Raises UndefinedFile, InsufficientPrivilege, WrongObjectType, IoError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        # Opening a device may have side effects, and a socket cannot be opened: only a regular file is opened.
        _require_regular(os.stat(path), shown)
        folder = _folder(path, shown)
        try:
            descriptor = os.open(path.name, flags, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            _require_regular(os.fstat(descriptor), shown)
        except BaseException:
            os.close(descriptor)
            raise
        return os.fdopen(descriptor, "rb")
    except OSError as error:
        raise _not_opened(error, shown, "FROM", "read", "reading") from None


class NewFile:
    """A file that gets its name when it is complete; until then it has a temporary one. Every method blocks."""

    def __init__(self, path: Path, shown: str) -> None:
        self._name = path.name
        self._partial = f".{path.name[:200]}-{uuid.uuid4().hex}"
        try:
            self._folder = _folder(path, shown)
        except OSError as error:
            raise _not_opened(error, shown, "TO", "write", "writing") from None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self.sink: BinaryIO = os.fdopen(os.open(self._partial, flags, 0o666, dir_fd=self._folder), "wb")
        except OSError as error:
            os.close(self._folder)
            raise _not_opened(error, shown, "TO", "write", "writing") from None

    def finish(self) -> None:
        self.sink.flush()
        os.fsync(self.sink.fileno())
        self.sink.close()
        os.replace(self._partial, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        os.close(self._folder)

    def abandon(self) -> None:
        self.sink.close()
        with suppress(FileNotFoundError):
            os.unlink(self._partial, dir_fd=self._folder)
        os.close(self._folder)


def _not_opened(error: OSError, shown: str, direction: str, verb: str, doing: str) -> SqlError:
    hint = _HINT.format(direction=direction, verb=verb)
    kind: type[SqlError] = IoError
    if isinstance(error, FileNotFoundError):
        kind = UndefinedFile
    elif isinstance(error, PermissionError):
        kind = InsufficientPrivilege
    return kind(f'could not open file "{shown}" for {doing}: {error.strerror}', hint=hint)

"""SQLSTATEs of the operating system's errors, in one place for all code that uses files.

Source: PostgreSQL 15, elog.c (errcode_for_file_access), fd.c (BasicOpenFilePerm).
"""

from __future__ import annotations

import errno
from typing import Final

from wire.errors import DiskFull, InsufficientResources, IoError, SqlError

#: EFBIG: a limit on the size of files (`ulimit -f`) is a full disk by another name.
_KINDS: Final[dict[int, type[SqlError]]] = {
    errno.ENOSPC: DiskFull,
    errno.EDQUOT: DiskFull,
    errno.EFBIG: DiskFull,
    errno.EMFILE: InsufficientResources,
    errno.ENFILE: InsufficientResources,
}


def kind_of(error: OSError) -> type[SqlError]:
    """Return the class of SqlError for an error of the file system."""
    return _KINDS.get(error.errno or 0, IoError)

"""References to files that another member holds. A reference stands among a table's files for a part that this member
cannot list.

    /dev/null/south/parquet/orders/south/*.parquet

A reference states member, format and path. This is all that the holder needs to find the files when it is to read them,
and it is unique among all members. It lies below /dev/null, where no file can exist: code that asks the file system
about one (for its size or footer) learns that it does not exist, as for any file out of reach, and never gets an answer
about another file.

Considered and rejected: a URI (Arrow takes those for file systems of its own), and a class of its own among the files
(every place that handles a file's name would have two cases, and hardly any of them has something different to do).
"""

from __future__ import annotations

from typing import Final, cast

from engine.catalog.model.objects import FileFormat
from wire.dataclass import dataclass

_PREFIX: Final = "/dev/null/"


@dataclass(frozen=True, slots=True)
class RemoteFileRef:
    """A reference to another member's file. path: as the topology states it; a relative one begins at the holder's data
    directory.
    """

    member: str
    format: FileFormat
    path: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.member}/{self.format}/{self.path}"


def remote_file_ref(file: str) -> RemoteFileRef | None:
    """Parse the name of a remote file; None for the name of an ordinary file."""
    if not file.startswith(_PREFIX):
        return None
    member, file_format, path = [*file.removeprefix(_PREFIX).split("/", 2), "", ""][:3]
    return RemoteFileRef(member, cast("FileFormat", file_format), path)

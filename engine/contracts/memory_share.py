"""The memory that the statements of one role may use on a member (`sluice.memory_max`), and the limits derived from it.

The share is enforced where most memory is used, in DuckDB: the statements of a limited role run in a database of their
own, and all of them together get the share (`engine.executors.local.role_databases`). Buffers around it, which each
statement has for itself (a page of rows, the windows of streams, small inputs of a stage, the buffers of a writer of
files), are reduced to fractions of the share. The rows of RETURNING, which have no other bound, are counted by
statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from wire.errors import OutOfMemory

if TYPE_CHECKING:
    from engine.contracts.session_settings import Settings

_PAGE_PART: Final = 16
_INPUT_PART: Final = 8
_WRITER_PART: Final = 4
_PAGE_MIN: Final = 1 << 10


class MemoryShare(NamedTuple):
    """The memory limit of a role's statements. role: the role whose sessions share it. bytes: on each member."""

    role: str
    bytes: int

    @property
    def input_bytes(self) -> int:
        """The bytes of a stage's input that may be kept outside of DuckDB."""
        return self.bytes // _INPUT_PART

    def require(self, size: int) -> None:
        """Raise OutOfMemory if a statement keeps more bytes than the share in rows that it will return."""
        if size > self.bytes:
            raise self.exceeded_error()

    def exceeded_error(self) -> OutOfMemory:
        return OutOfMemory(
            "out of memory",
            detail=f'Statements of user "{self.role}" may hold {self.bytes} bytes together.',
            hint="The limit is sluice.memory_max, which ALTER ROLE sets.",
        )


def share_of(role: str, settings: Settings) -> MemoryShare | None:
    """Return a role's share by its settings; None: without a limit."""
    size = settings.size_bytes("sluice.memory_max")
    return MemoryShare(role, size) if size else None


def writer_bytes(memory: MemoryShare | None, most: int) -> int:
    """Return how many bytes a writer of files may buffer, which is `most` without a limit."""
    return most if memory is None else min(memory.bytes // _WRITER_PART, most)


def page_bytes(settings: Settings) -> int:
    """Return the size of a page, and the window of a stream: `cursor_buffer_size`, reduced if the memory limit requires
    it.
    """
    size, limit = settings.size_bytes("cursor_buffer_size"), settings.size_bytes("sluice.memory_max")
    return min(size, max(limit // _PAGE_PART, _PAGE_MIN)) if limit else size

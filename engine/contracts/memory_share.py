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
    """role: whose sessions share it. bytes: on each member."""

    role: str
    bytes: int

    @property
    def input_bytes(self) -> int:
        """How much of a stage's input may lie outside of DuckDB."""
        return self.bytes // _INPUT_PART

    def require(self, size: int) -> None:
        """Raises OutOfMemory where a statement keeps more than the share in rows that it is to tell of."""
        if size > self.bytes:
            raise self.exceeded_error()

    def exceeded_error(self) -> OutOfMemory:
        return OutOfMemory(
            "out of memory",
            detail=f'Statements of user "{self.role}" may hold {self.bytes} bytes together.',
            hint="The limit is sluice.memory_max, which ALTER ROLE sets.",
        )


def share_of(role: str, settings: Settings) -> MemoryShare | None:
    """None: without a limit."""
    size = settings.size_bytes("sluice.memory_max")
    return MemoryShare(role, size) if size else None


def writer_bytes(memory: MemoryShare | None, most: int) -> int:
    """How much a writer of files may keep that otherwise keeps `most`."""
    return most if memory is None else min(memory.bytes // _WRITER_PART, most)


def page_bytes(settings: Settings) -> int:
    """The size of a page, and the window of a stream: `cursor_buffer_size`, as far as the limit lets it be so large."""
    size, limit = settings.size_bytes("cursor_buffer_size"), settings.size_bytes("sluice.memory_max")
    return min(size, max(limit // _PAGE_PART, _PAGE_MIN)) if limit else size

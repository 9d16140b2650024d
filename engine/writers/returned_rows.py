"""RETURNING's rows that Spark's tasks keep on disk until the statement has ended: Arrow files in the statement's
folder.

They are not part of the job's result, which Spark's driver gathers in its heap. Each task has a file of its own, which
its intents name, so that files of failed or duplicate attempts are never read; they are removed with the folder.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa

from engine.common.os_errors import kind_of
from engine.storage import disk
from wire.errors import InternalError, IoError

_NAME: Final = re.compile(r"returned-[0-9a-f]{32}\.arrow")
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")


class ReturnedFile:
    """The file of one task. folder: the statement's. Blocks on the disk. The file is created with the first row."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"returned-{uuid.uuid4().hex}.arrow"
        self._sink: pa.NativeFile | None = None
        self._stream: pa.RecordBatchFileWriter | None = None

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write batches. Raises SqlError."""
        try:
            for batch in batches:
                if self._stream is None:
                    self._sink = disk.current_disk().create(self._path)
                    self._stream = pa.ipc.new_file(self._sink, batch.schema, options=_OPTIONS)
                self._stream.write_batch(batch)
        except OSError as error:
            raise kind_of(error)(f'could not write to "{self._path}": {error.strerror or error}') from error

    def finish(self) -> tuple[str, ...]:
        """Finish the file and return the names to report."""
        if self._stream is None:
            return ()
        self._stream.close()
        assert self._sink is not None, "the stream's"
        self._sink.close()
        return (self._path.name,)

    def abandon(self) -> None:
        """Remove the file."""
        for opened in (self._stream, self._sink):
            if opened is not None:
                # The stream writes a footer, for which there may be no space on the disk.
                with suppress(OSError, pa.ArrowException):
                    opened.close()
        disk.current_disk().remove(self._path)


def read(folder: Path, names: Iterable[str]) -> tuple[pa.RecordBatch, ...]:
    """Read all rows of the reported files. May block for long. Raises IoError."""
    batches: list[pa.RecordBatch] = []
    for name in names:
        if not _NAME.fullmatch(name):
            raise InternalError(f'a writer has told of a file outside of its folder: "{name}"')
        try:
            with pa.OSFile(str(folder / name)) as file, pa.ipc.open_file(file) as reader:
                batches += (reader.get_batch(number) for number in range(reader.num_record_batches))
        except (OSError, pa.ArrowInvalid) as error:
            raise IoError(f'could not read "{folder / name}": {error}') from error
    return tuple(batches)

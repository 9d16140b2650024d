"""Spool files are made, written and read on the spooler's thread."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.exchange.spool import Spooler
from wire.errors import IoError


async def test_a_file_is_made_on_the_spooler_s_thread(tmp_path: Path) -> None:
    """The loop does not wait for the disk, also where only the folder is slow."""
    threads, go = ThreadPoolExecutor(1), threading.Event()
    spooler = Spooler(tmp_path / "spool", threads=threads)
    threads.submit(go.wait)
    making = asyncio.ensure_future(spooler.create())
    await asyncio.sleep(0)
    assert not (tmp_path / "spool").exists()
    assert spooler.files == 0
    go.set()
    file = await making
    assert await file.read(await file.write(bytearray(b"rows"))) == b"rows"
    assert spooler.files == 1
    await file.close()
    assert (spooler.files, spooler.bytes_used) == (0, 0)
    spooler.close()


async def test_a_folder_that_cannot_be_made_is_an_error_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("no folder")
    spooler = Spooler(tmp_path / "spool")
    with pytest.raises(IoError, match="could not use a spool file"):
        await spooler.create()
    assert spooler.files == 0
    spooler.close()

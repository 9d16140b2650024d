"""Power failures on the simulated disk: synced data survive, and any part of the other data may survive."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from simulated.disk import SimulatedDisk
from simulated.stage import Stage

_SEEDS = 40
_BYTES = bytes(range(1, 251)) * 8


def _left(tmp_path: Path, act: Callable[[SimulatedDisk, Path], None]) -> set[bytes | None]:
    """Return the contents that `folder/file` may have after a power failure, collected over many of them; None if the
    file does not exist.
    """
    found: set[bytes | None] = set()
    for seed in range(_SEEDS):
        data, kept = tmp_path / str(seed) / "data", tmp_path / str(seed) / "kept"
        (data / "folder").mkdir(parents=True)
        kept.mkdir()
        disk = SimulatedDisk(Stage(Random(seed)), data, kept, "catalog")
        act(disk, data / "folder")
        disk.lose_power()
        path = data / "folder" / "file"
        found.add(path.read_bytes() if path.exists() else None)
    return found


def _write(disk: SimulatedDisk, path: Path) -> None:
    with disk.create(path) as sink:
        sink.write(_BYTES)


def test_what_is_synced_with_its_folder_stays(tmp_path: Path) -> None:
    def act(disk: SimulatedDisk, folder: Path) -> None:
        _write(disk, folder / "file")
        disk.sync(folder / "file")
        disk.sync(folder)

    assert _left(tmp_path, act) == {_BYTES}


def test_a_file_whose_folder_is_not_synced_is_there_or_not(tmp_path: Path) -> None:
    def act(disk: SimulatedDisk, folder: Path) -> None:
        _write(disk, folder / "file")
        disk.sync(folder / "file")

    assert _left(tmp_path, act) == {_BYTES, None}


def test_a_file_that_is_not_synced_is_whole_or_torn(tmp_path: Path) -> None:
    def act(disk: SimulatedDisk, folder: Path) -> None:
        _write(disk, folder / "file")
        disk.sync(folder)

    left = _left(tmp_path, act)
    assert {_BYTES, b"", bytes(len(_BYTES))} <= left
    assert None not in left
    assert any(found and _BYTES.startswith(found) and found != _BYTES for found in left), "cut off at a sector"


def test_what_is_removed_may_come_back(tmp_path: Path) -> None:
    def act(disk: SimulatedDisk, folder: Path) -> None:
        _write(disk, folder / "file")
        disk.sync(folder / "file")
        disk.sync(folder)
        disk.remove(folder / "file")

    assert _left(tmp_path, act) == {_BYTES, None}


def test_a_removed_folder_comes_back_with_what_was_in_it(tmp_path: Path) -> None:
    def act(disk: SimulatedDisk, folder: Path) -> None:
        _write(disk, folder / "file")
        disk.sync(folder / "file")
        disk.sync(folder)
        disk.sync(folder.parent)
        disk.remove_tree(folder)

    assert _BYTES in _left(tmp_path, act)


def test_a_move_takes_place_by_halves(tmp_path: Path) -> None:
    def act(disk: SimulatedDisk, folder: Path) -> None:
        (folder / "area").mkdir()
        _write(disk, folder / "area" / "other")
        disk.sync(folder / "area" / "other")
        disk.sync(folder / "area")
        disk.rename(folder / "area" / "other", folder / "file")

    assert _left(tmp_path, act) == {_BYTES, None}


def test_a_bad_disk_says_so_and_does_nothing(tmp_path: Path) -> None:
    """Only actors see failures: an operation of the test itself, or of the end of a run, succeeds."""
    (tmp_path / "data").mkdir()
    (tmp_path / "kept").mkdir()
    disk = SimulatedDisk(Stage(Random(1)), tmp_path / "data", tmp_path / "kept", "catalog")
    disk.bad = True
    disk.make_folder(tmp_path / "data" / "folder")
    with pytest.raises(FileExistsError):
        disk.make_folder(tmp_path / "data" / "folder")


def test_a_log_is_read_again_when_its_files_have_changed(tmp_path: Path) -> None:
    log = tmp_path / "data" / "log"
    log.mkdir(parents=True)
    (tmp_path / "kept").mkdir()
    disk = SimulatedDisk(Stage(Random(1)), tmp_path / "data", tmp_path / "kept", "catalog")
    times_read = itertools.count(1)

    def ask(what: int) -> int:
        return disk.let_read(log, (str(tmp_path), what), lambda: next(times_read))

    (log / "0.json").write_bytes(_BYTES)
    assert [ask(0), ask(0), ask(1)] == [1, 1, 2]
    (log / "1.json").write_bytes(b"")
    assert [ask(0), ask(0)] == [3, 3]
    (log / "1.json").write_bytes(b"\0")
    assert ask(0) == 4
    (log / "1.json").rename(log / "2.json")
    assert ask(0) == 5

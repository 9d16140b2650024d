"""The folder of a statement whose files other processes write: which files are kept, which are removed, and how late
writers are refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalog.model.objects import DataFile
from engine.storage.in_flight_files import InFlightFiles
from engine.storage.staging_area import StagingArea, new_name
from wire.errors import IoError


@pytest.fixture
def area(tmp_path: Path) -> StagingArea:
    area = StagingArea(tmp_path, new_name())
    area.make()
    return area


def staged(area: StagingArea, path: str, content: bytes = b"rows") -> DataFile:
    file = area.path / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return DataFile(path, len(content), 1)


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_what_is_named_is_kept_and_the_rest_goes(area: StagingArea, tmp_path: Path) -> None:
    files = [staged(area, "a.parquet"), staged(area, "region=EU/b.parquet")]
    staged(area, "of-an-attempt-that-failed.parquet")
    area.keep(files)
    assert below(tmp_path) == {"a.parquet", "region=EU/b.parquet"}
    assert not area.path.exists()


def test_what_is_not_there_is_told_and_nothing_is_kept(area: StagingArea, tmp_path: Path) -> None:
    files = [staged(area, "a.parquet"), DataFile("elsewhere.parquet", 4, 1)]
    with pytest.raises(IoError, match="a file that was written elsewhere is not there") as caught:
        area.keep(files)
    assert caught.value.hint == "Whoever writes files of a table has to see the same folder of tables as the members."
    area.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_cut_short_is_not_kept(area: StagingArea) -> None:
    with pytest.raises(IoError):
        area.keep([DataFile("a.parquet", 5, 1), staged(area, "a.parquet")][:1])


def test_who_comes_later_finds_no_folder(area: StagingArea) -> None:
    area.abandon()
    with pytest.raises(FileNotFoundError):
        (area.path / "late.parquet").write_bytes(b"rows")
    area.abandon()


def test_it_is_under_way_while_somebody_holds_it(area: StagingArea, tmp_path: Path) -> None:
    underway = InFlightFiles()
    underway.watch(area)
    (tmp_path / "of-somebody-else.parquet").touch()
    staged(area, "a.parquet")
    assert underway.files() == {str(area.path), str(area.path / "a.parquet")}
    del area

"""A cluster's secret that was not configured: it is created once, completely, and readable by its owner only."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server.config.cluster_secret import UnusableSecret, read_or_make


def test_it_is_made_once_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret"
    secret = read_or_make(path)
    assert len(secret) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_or_make(path) == secret
    assert [file.name for file in path.parent.iterdir()] == ["secret"]
    assert read_or_make(tmp_path / "other") != secret


def test_all_who_begin_at_once_have_the_same_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(read_or_make, [tmp_path / "secret"] * 64))) == 1
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secret"
    read_or_make(path)
    path.chmod(mode)
    with pytest.raises(UnusableSecret, match="has group or world access"):
        read_or_make(path)


def test_an_empty_file_and_a_folder_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch(0o600)
    with pytest.raises(UnusableSecret, match="has no secret in its first line"):
        read_or_make(empty)
    with pytest.raises(UnusableSecret, match=r"cannot write .*/below: "):
        read_or_make(empty / "below")

"""Which paths the event loop's thread may look at: mount tables as Linux writes them, links, mounts that come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.lakes import local_disks
from engine.lakes.local_disks import LocalPaths, are_local, look_up, mounts_of

MOUNTS = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
40 27 0:41 / /data/nfs rw - nfs4 filer:/export rw,vers=4.2
41 40 254:1 / /data/nfs/scratch rw - xfs /dev/vdb rw
42 27 0:42 / /data/with\040space rw shared:7 - fuse.sshfs me@host:/ rw
43 27 0:43 / /share rw - cifs //host/share rw
44 27 0:44 / /vm rw - 9p share rw,trans=virtio
45 27 0:45 / /ceph rw - ceph mon:/ rw
46 27 0:46 / /lustre rw - lustre mgs@tcp:/fs rw
47 27 0:47 / /auto rw - autofs auto.master rw
48 27 0:48 / /run rw,nosuid - tmpfs tmpfs rw
49 27 0:49 / /hidden rw - nfs filer:/old rw
50 27 0:50 / /hidden rw - tmpfs tmpfs rw
""".strip()
LOCAL = ("/", "/proc", "/run")
OTHER = (
    "/data/nfs", "/data/nfs/scratch", "/data/with space", "/share", "/vm", "/ceph", "/lustre", "/auto", "/hidden",
)  # fmt: skip


def found(mounts: dict[str, bool] | str, *paths: str) -> list[bool]:
    known = LocalPaths(mounts_of(mounts) if isinstance(mounts, str) else mounts)
    known.look_up(paths)
    return [known.found[path] for path in paths]


def test_types_of_file_systems_tell() -> None:
    mounts = mounts_of(MOUNTS)
    assert set(mounts) == {*LOCAL, *OTHER}
    assert {point for point, is_local in mounts.items() if is_local} == {*LOCAL, "/data/nfs/scratch"}


def test_the_whole_way_to_a_path_and_what_is_below_it_count() -> None:
    files = ["/data/a.parquet", "/data/nfsa/b", "/run/b.parquet", "/data/nfs/c", "/data/nfs/scratch/d", "/hidden/e"]
    assert found(MOUNTS, *files) == [True, True, True, False, False, False]
    # A listing of these folders and patterns enters the mounts below.
    assert found(MOUNTS, "/data", "/data/*/a.parquet", "/run", "/") == [False, False, True, False]
    assert found(MOUNTS, "/data/with space/f", "s3://bucket/a.parquet") == [False, False]


def test_links_are_followed(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    far, near = real / "far", real / "near"
    far.mkdir()
    near.mkdir()
    (far / "a.parquet").touch()
    (near / "link.parquet").symlink_to(far / "a.parquet")
    (near / "own.parquet").touch()
    (real / "folder").symlink_to(far)
    paths = [near / "own.parquet", near / "link.parquet", real / "folder" / "a.parquet", real / "folder"]
    assert found({"/": True, str(far): False}, *map(str, paths)) == [True, False, False, False]


def test_a_path_is_local_once_it_was_looked_up(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    assert not are_local([path])
    look_up([path])
    assert are_local([path])
    assert not are_local([path, str(tmp_path / "b.parquet")])


def test_no_path_is_local_without_a_table_of_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_disks, "_MOUNTS", str(tmp_path / "none"))
    monkeypatch.setattr(local_disks, "_mounts", local_disks._Mounts())
    look_up([str(tmp_path)])
    assert not are_local([str(tmp_path)])

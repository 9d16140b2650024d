"""A mounted folder whose file system can stop answering, as a network's does: FUSE, served by a process that is stopped.

The process (`python -m support.stalling_folder SOURCE MOUNT`) serves the files of one folder, read-only and without
subfolders, by the kernel's protocol (linux/fuse.h). While it is stopped, every call that looks at the mount waits; once
it is killed, such calls fail. To mount takes a privilege and /dev/fuse: `is_possible` tells whether both are there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_REQUEST: Final = struct.Struct("<IIQQIIIHH")
_REPLY: Final = struct.Struct("<IiQ")
_ATTRIBUTES: Final = struct.Struct("<6Q10I")
_INIT: Final = struct.Struct("<4I2H2I2H8I")
_READ_BYTES: Final = 1 << 20
_DETACH: Final = 2
_FOLDER: Final = 1
#: Requests that have no reply: FORGET, INTERRUPT, BATCH_FORGET.
_SILENT: Final = (2, 36, 42)
_libc = ctypes.CDLL(None, use_errno=True)


def is_possible() -> bool:
    """Return whether this process may mount a folder."""
    return os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK)


class StallingFolder:
    """The process that serves a mount."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @contextmanager
    def stalled(self) -> Iterator[None]:
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@contextmanager
def stalling_folder(source: Path, mount: Path) -> Iterator[StallingFolder]:
    """Show the files of the folder `source` at the folder `mount`."""
    command = [sys.executable, "-m", "support.stalling_folder", str(source), str(mount)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "mounted\n"
            yield StallingFolder(process)
        finally:
            process.kill()
            _libc.umount2(os.fsencode(mount), _DETACH)


class _Server:
    """Answers the kernel's requests."""

    def __init__(self, source: str, device: int) -> None:
        self._source = source
        self._device = device
        self._names = sorted(os.listdir(source))
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._look_up, 3: self._attributes, 14: self._open, 15: self._read, 17: lambda *_: bytes(80),
            18: lambda *_: b"", 25: lambda *_: b"", 26: self._begin, 27: self._open, 28: self._list, 29: lambda *_: b"",
        }  # fmt: skip

    def run(self) -> None:
        while True:
            request = os.read(self._device, _READ_BYTES + 4096)
            _, code, unique, node, *_ = _REQUEST.unpack_from(request)
            if code not in _SILENT:
                self._reply(unique, code, node, request[_REQUEST.size :])

    def _reply(self, unique: int, code: int, node: int, body: bytes) -> None:
        answer, failure = b"", 0
        try:
            answer = self._answers[code](node, body)
        except KeyError:
            failure = errno.ENOSYS
        except OSError as error:
            failure = error.errno or errno.EIO
        os.write(self._device, _REPLY.pack(_REPLY.size + len(answer), -failure, unique) + answer)

    def _begin(self, _node: int, _body: bytes) -> bytes:
        return _INIT.pack(7, 31, 0, 0, 0, 0, _READ_BYTES, 1, 0, 0, *bytes(8))

    def _path(self, node: int) -> str:
        return self._source if node == _FOLDER else os.path.join(self._source, self._names[node - 2])

    def _look_up(self, _node: int, body: bytes) -> bytes:
        name = os.fsdecode(body.rstrip(b"\0"))
        if name not in self._names:
            raise FileNotFoundError(errno.ENOENT, name)
        node = self._names.index(name) + 2
        # The kernel is to ask each time.
        return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + self._status(node)

    def _attributes(self, node: int, _body: bytes) -> bytes:
        return struct.pack("<Q2I", 0, 0, 0) + self._status(node)

    def _status(self, node: int) -> bytes:
        found = os.stat(self._path(node))
        times = [found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns]
        seconds, rests = zip(*(divmod(each, 1_000_000_000) for each in times), strict=True)
        owner = (found.st_uid, found.st_gid)
        return _ATTRIBUTES.pack(
            node, found.st_size, found.st_blocks, *seconds, *rests, found.st_mode, found.st_nlink, *owner, 0, 4096, 0
        )

    def _open(self, _node: int, _body: bytes) -> bytes:
        return struct.pack("<Q2I", 0, 0, 0)

    def _read(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<2QI", body)
        with open(self._path(node), "rb") as file:
            file.seek(offset)
            return file.read(size)

    def _list(self, _node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<2QI", body)
        listed = b""
        for place, name in enumerate(self._names[offset:], offset):
            text = os.fsencode(name)
            entry = struct.pack("<2Q2I", place + 2, place + 1, len(text), stat.S_IFREG >> 12) + text
            entry += bytes(-len(entry) % 8)
            if len(listed) + len(entry) > size:
                break
            listed += entry
        return listed


def _serve(source: str, mount: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    if _libc.mount(b"stalling", os.fsencode(mount), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    print("mounted", flush=True)
    _Server(source, device).run()


if __name__ == "__main__":
    _serve(*sys.argv[1:])

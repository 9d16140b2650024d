"""psql in a pseudo-terminal, for tests of its tab completion. Readline inserts all completions of an input into the
line, makes the line a comment and accepts it, so that psql's history contains the completions and no statement runs.
"""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Final

#: Readline's names for the two keys (ESC * and ESC #), no bell, no redrawing of long lines.
_SETTINGS: Final = (
    'set comment-begin "-- "\nset bell-style none\nset enable-bracketed-paste off\n"\\e*": insert-completions\n'
)
_PROMPT: Final = "\nREADY> "
_WIDE: Final = struct.pack("HHHH", 50, 60_000, 0, 0)


def completions(dsn: str, beginnings: Sequence[str]) -> dict[str, str]:
    """Return each input with its last word replaced by all of psql's completions of it, in psql's order, each followed
    by a space.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "inputrc").write_text(_SETTINGS)
        _typed(dsn, beginnings, folder)
        lines = (folder / "history").read_text().splitlines()
    lines = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    assert len(lines) == len(beginnings), (lines, beginnings)
    return dict(zip(beginnings, lines, strict=True))


def _typed(dsn: str, beginnings: Sequence[str], folder: Path) -> None:
    terminal, line = pty.openpty()
    fcntl.ioctl(line, termios.TIOCSWINSZ, _WIDE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    more = {
        "TERM": "dumb",
        "INPUTRC": str(folder / "inputrc"),
        "PSQL_HISTORY": str(folder / "history"),
        "LANG": "C.UTF-8",
    }
    process = subprocess.Popen(
        [shutil.which("psql") or "psql", "-X", "-q", "-v", "PROMPT1=READY> ", "-v", "HISTSIZE=-1", dsn],
        stdin=line, stdout=line, stderr=line, env={**kept, **more}, start_new_session=True,
    )  # fmt: skip
    os.close(line)
    try:
        _read(terminal, "READY> ")
        for beginning in beginnings:
            os.write(terminal, f"{beginning}\x1b*\x1b#".encode())
            _read(terminal, _PROMPT)
        os.write(terminal, b"\\q\n")
        process.wait(30)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def _read(terminal: int, end: str) -> None:
    told = ""
    while not told.endswith(end):
        told += os.read(terminal, 65536).decode(errors="replace").replace("\r", "")

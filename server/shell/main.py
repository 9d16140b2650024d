"""`sluice sql`: decides where to connect, and whether to read from a terminal or to run given statements."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.conninfo import make_conninfo

from server.shell.printing import complain
from server.shell.shell import Shell, ShellError, run_all

#: Seconds between two progress notices in interactive use.
_PROGRESS: Final = 1.0


def run(
    target: str, options: Mapping[str, Any], *, commands: Sequence[str], files: Sequence[Path], expanded: bool
) -> int:
    """Run the shell. Returns the exit status: 0; 1 for an error of a statement; 2 if there is no connection; 130 if it
    was interrupted.
    """
    looks_on = sys.stderr.isatty()
    where = target or make_conninfo(**{**options, "user": options["user"] or getpass.getuser()})
    try:
        shell = Shell(where, progress=_PROGRESS if looks_on else 0)
    except psycopg.Error as error:
        complain(f"sluice: {str(error).strip()}")
        return 2
    shell.expanded = expanded
    try:
        return _run(shell, commands, files)
    finally:
        shell.close()


def _run(shell: Shell, commands: Sequence[str], files: Sequence[Path]) -> int:
    if commands or files:
        status = run_all(shell, commands)
        if status == 0 and files:
            try:
                texts = [file.read_text() for file in files]
            except OSError as error:
                complain(f"sluice: cannot read {error.filename}: {error.strerror}")
                return 1
            status = run_all(shell, texts)
        return status
    if not sys.stdin.isatty():
        return run_all(shell, [sys.stdin.read()])
    from server.shell.prompt import interact

    try:
        return interact(shell)
    except ShellError as error:
        complain(f"sluice: {error}")
        return 1

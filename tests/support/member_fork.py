"""Processes of members that fork from one process, which has imported a member's code once.

Starting Python and importing what a member needs is most of what a member's start costs, and it is the same each time. The
server of forks is `multiprocessing`'s: one a test process, started with the first member, ended with the test process. It
imports and nothing else: no loop, no engine and no thread of ours exists before a fork, so what is forked is what a fresh
interpreter has after its imports. What differs from `python -m server.cli.main`: the command line that the system shows, and
the interpreter's own end, which is `multiprocessing`'s. `support.local_cluster` starts members as the command itself does.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import IO, Final

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["server.cli.main", "server.serving"])


class ForkedMember:
    """A running `sluice` with these arguments, the leader of a session of its own; as much of `subprocess.Popen` as is needed.

    environment: all of it. errors: the descriptor that is its standard error. stdout: its standard output, as text.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], errors: int) -> None:
        reading, writing = os.pipe()
        self.stdout: IO[str] = os.fdopen(reading)
        with Connection(writing, readable=False) as output, Connection(os.dup(errors), readable=False) as log:
            self._process = _CONTEXT.Process(
                target=_run, args=(list(arguments), dict(environment), output, log), daemon=True
            )
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def send_signal(self, number: int) -> None:
        """Does nothing when the process has ended."""
        if self._process.is_alive():
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end; its exit status, negative for a signal."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def _run(arguments: list[str], environment: dict[str, str], output: Connection, errors: Connection) -> None:
    """In the fork."""
    from server.cli.main import main

    os.setsid()
    os.dup2(output.fileno(), 1)
    os.dup2(errors.fileno(), 2)
    output.close()
    errors.close()
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["sluice", *arguments]
    main()

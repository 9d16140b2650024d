"""Members' processes as forks of one process that has imported a member's code once.

Most of the cost of a member's start is starting Python and importing its modules, which is the same each time. The fork
server is `multiprocessing`'s: each test process has one, which starts with the first member and ends with the test
process. It only imports: no event loop, no engine and no thread of ours exists before a fork, so a fork starts in the
state of a fresh interpreter after its imports. Two things differ from `python -m server.cli.main`: the command line
that the system shows, and the interpreter's exit, which is `multiprocessing`'s.

`sluice cluster up` is forked from there too (`fork_command`). It forks its members from itself where it would otherwise
start Python.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import IO, Final, NoReturn

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["server.cli.main", "server.serving", "server.cluster.local_cluster"])


class ForkedMember:
    """A running `sluice` with these arguments, the leader of its own session; it has the methods of `subprocess.Popen`
    that the tests need.

    environment: the complete environment.
    errors: the file descriptor of its standard error.
    stdout: its standard output, as text.
    prepare: a function that the fork calls before the command.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        errors: int,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        reading, writing = os.pipe()
        self.stdout: IO[str] = os.fdopen(reading)
        with Connection(writing, readable=False) as output, Connection(os.dup(errors), readable=False) as log:
            self._process = _CONTEXT.Process(
                target=_run, args=(list(arguments), dict(environment), output, log, prepare), daemon=True
            )
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def send_signal(self, number: int) -> None:
        """Send a signal. Does nothing if the process has ended."""
        if self._process.is_alive():
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the process to end. Returns its exit status, negative for a signal."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def fork_command(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `sluice` with these arguments to its end. The members that it starts are forked from it."""
    with tempfile.TemporaryFile("w+") as errors:
        command = ForkedMember(words, environment, errors.fileno(), _fork_members)
        with command.stdout:
            told = command.stdout.read()
        status = command.wait()
        errors.seek(0)
        return subprocess.CompletedProcess(words, status, told, errors.read())


def _run(
    arguments: list[str],
    environment: dict[str, str],
    output: Connection,
    errors: Connection,
    prepare: Callable[[], None] | None,
) -> None:
    """Run the command in the fork."""
    os.setsid()
    os.dup2(output.fileno(), 1)
    os.dup2(errors.fileno(), 2)
    output.close()
    errors.close()
    if prepare is not None:
        prepare()
    _be(arguments, environment)


def _be(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    from server.cli.main import main

    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["sluice", *arguments]
    main()


def _fork_members() -> None:
    """Make `sluice cluster up` in this process fork the processes for which it would otherwise start Python."""
    from server.cluster import local_cluster

    forking = SimpleNamespace(Popen=_Child, DEVNULL=subprocess.DEVNULL)
    vars(local_cluster)["subprocess"] = forking


class _Child:
    """The part of `subprocess.Popen` that the command uses, for child processes that run `sluice` itself."""

    def __init__(
        self, command: Sequence[str], *, stdin: int, stdout: IO[bytes], stderr: IO[bytes], start_new_session: bool,
        env: Mapping[str, str],
    ) -> None:  # fmt: skip
        assert (command[1:3], stdin, stdout, start_new_session) == (
            ["-m", "server.cli.main"], subprocess.DEVNULL, stderr, True,
        )  # fmt: skip
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _be_member(command[3:], env, stdout.fileno())

    def poll(self) -> int | None:
        return self._wait(os.WNOHANG)

    def wait(self) -> int | None:
        return self._wait(0)

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            found, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if found else None
        return self.returncode


def _be_member(arguments: Sequence[str], environment: Mapping[str, str], log: int) -> NoReturn:
    status = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        _be(arguments, environment)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - nobody is above it who would tell
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

"""The shell: runs the input. It sends statements to the server one at a time, and executes commands that begin with a
backslash itself.

Ctrl-C while a statement runs cancels it on the server (psycopg sends the cancel request and waits for the answer).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from rich.console import Console

from server.config.address import Address
from server.shell import describing, plans, printing
from server.shell.printing import complain, tell
from server.shell.statements import split
from server.shell.waiting import Waiting

HELP: Final = """\\c MEMBER | HOST:PORT  connect to another member (\\connect)
\\d [NAME]              list relations, or describe one
\\i FILE                run the statements of a file
\\plan STATEMENT        draw the plan of a statement
\\q                     quit (or Ctrl-D)
\\timing                show how long statements take, or stop to
\\x                     show a column a line, or stop to
Statements end with a semicolon. Ctrl-C cancels the one that runs."""
#: Seconds until a Ctrl-C that came while a notice was shown is repeated.
_AGAIN_SECONDS: Final = 0.05
#: Command tags after which the names for completion may have changed.
_DEFINING: Final = ("CREATE", "DROP", "ALTER", "IMPORT", "SET", "RESET", "SELECT INTO")


class ShellError(Exception):
    """An error of the shell itself; the message is for its user."""


class Quit(Exception):
    r"""Raised by \q."""


class Shell:
    r"""See the module's docstring.

    target: libpq's connection string. progress: seconds between two progress notices; 0: none are requested. expanded,
    timing: toggled by \x and \timing. changed: called when the names for completion may have changed.
    """

    def __init__(self, target: str, *, progress: float = 0, changed: Callable[[], None] = lambda: None) -> None:
        self.expanded = False
        self.timing = False
        self.changed = changed
        self._progress = progress
        self._errors = Console(stderr=True, highlight=False)
        self._waiting: Waiting | None = None
        self._target = conninfo_to_dict(target)
        self.connection = self._connect()
        self._commands: dict[str, Callable[[str], None]] = {
            "?": lambda _rest: tell(HELP), "c": self._reconnect, "connect": self._reconnect, "d": self._describe,
            "i": self.run_file, "plan": self._plan, "q": self._quit, "timing": self._toggle_timing, "x": self._toggle_expanded,
        }  # fmt: skip

    # -- connections -------------------------------------------------------------------------------------------------

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(
            make_conninfo("", **{"application_name": "sluice sql", **self._target}), autocommit=True
        )
        connection.add_notice_handler(self._notice)
        if self._progress:
            connection.execute(sql.SQL("set sluice.progress = {}").format(self._progress))
        return connection

    def _notice(self, said: psycopg.errors.Diagnostic) -> None:
        try:
            if self._waiting is not None:
                self._waiting.notice(said)
        except KeyboardInterrupt:
            # psycopg drops exceptions of a handler, so the signal is sent again when it waits for the server.
            threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT)).start()

    def _reconnect(self, where: str) -> None:
        """Connect to a member by its name, or to an address; without either, to the same one again."""
        if where:
            try:
                address = Address.parse(describing.members(self.connection).get(where, where))
            except ValueError:
                raise ShellError(f"{where} is neither a member nor host:port") from None
            self._target |= {"host": address.host, "port": str(address.port)}
        former, self.connection = self.connection, self._connect()
        former.close()
        info = self.connection.info
        tell(f'You are now connected to {info.host}:{info.port} as user "{info.user}".')
        self.changed()

    # -- running -----------------------------------------------------------------------------------------------------

    def run_text(self, text: str) -> bool:
        """Run statements and commands, each on lines of its own, up to the first that fails. Returns whether all
        succeeded.
        """
        return all(self.run(part) for part in _parts(text))

    def run_file(self, name: str) -> None:
        """Run the statements and commands of a file. Raises ShellError if it cannot be read, or if one of them fails."""
        try:
            text = Path(name).expanduser().read_text()
        except OSError as error:
            raise ShellError(f"cannot read {name}: {error.strerror}") from None
        if not self.run_text(text):
            raise ShellError(f"{name} was not run to its end")

    def run(self, part: str) -> bool:
        """Run one statement or command, and print its error if it fails. Returns whether it succeeded."""
        try:
            if part.startswith("\\"):
                self._command(part)
            else:
                self._statement(part)
        except psycopg.Error as error:
            for line in printing.error_lines(error, part):
                complain(line)
            if self.connection.closed:
                complain("The connection is lost; \\c connects again.")
            return False
        except ShellError as error:
            complain(f"sluice: {error}")
            return False
        return True

    def _command(self, line: str) -> None:
        name, _, rest = line[1:].strip().partition(" ")
        if name not in self._commands:
            raise ShellError(f"there is no command \\{name}; \\? lists those that there are")
        self._commands[name](rest.strip().rstrip(";"))

    def _statement(self, statement: str) -> None:
        words = statement.lower().split()
        if words[:1] == ["copy"] and "stdin" in words:
            raise ShellError("COPY FROM STDIN has no rows here; sluice load, or psql's \\copy, sends files")
        started = time.perf_counter()
        with self.connection.cursor() as cursor:
            if words[:1] == ["copy"] and "stdout" in words:
                self._copy_out(cursor, statement)
            else:
                self._execute(cursor, statement)
                if cursor.description is not None:
                    self._show(cursor)
                else:
                    tell(cursor.statusmessage or "")
            if self.timing:
                tell(f"Time: {(time.perf_counter() - started) * 1000:.3f} ms")
            if (cursor.statusmessage or "").startswith(_DEFINING):
                self.changed()

    def _execute(self, cursor: psycopg.Cursor[Any], statement: str, *arguments: Any) -> None:
        with Waiting(self._errors) as self._waiting:
            cursor.execute(statement.encode(), arguments or None)

    def _copy_out(self, cursor: psycopg.Cursor[Any], statement: str) -> None:
        with Waiting(self._errors) as self._waiting, cursor.copy(statement.encode()) as rows:
            for block in rows:
                sys.stdout.buffer.write(block)
        sys.stdout.flush()

    def _show(self, cursor: psycopg.Cursor[Any]) -> None:
        names, right, rows = printing.texts(cursor)
        lines = printing.expanded_lines(names, rows) if self.expanded else printing.aligned_lines(names, right, rows)
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.write("\n")
        sys.stdout.flush()

    # -- commands ----------------------------------------------------------------------------------------------------

    def _describe(self, name: str) -> None:
        with self.connection.cursor() as cursor:
            if name:
                self._execute(cursor, describing.COLUMNS, name)
            else:
                self._execute(cursor, describing.LIST)
            self._show(cursor)

    def _plan(self, statement: str) -> None:
        if not statement:
            raise ShellError("\\plan needs a statement")
        with self.connection.cursor() as cursor:
            self._execute(cursor, f"explain (format json) {statement}")
            (told,) = cursor.fetchone() or ("[]",)
            [plan] = json.loads(told) if isinstance(told, str) else told
            Console(highlight=False, soft_wrap=True).print(plans.draw_tree(plan))

    def _quit(self, _rest: str) -> None:
        raise Quit

    def _toggle_timing(self, _rest: str) -> None:
        self.timing = not self.timing
        tell(f"Timing is {'on' if self.timing else 'off'}.")

    def _toggle_expanded(self, _rest: str) -> None:
        self.expanded = not self.expanded
        tell(f"Expanded display is {'on' if self.expanded else 'off'}.")

    def close(self) -> None:
        self.connection.close()


def _parts(text: str) -> Iterator[str]:
    """Yield the statements and commands of a text, in order. A command is a line that begins with a backslash between
    statements; an incomplete rest at the end is a statement, too.
    """
    begun = ""
    for line in text.splitlines(keepends=True):
        if not begun.strip() and line.lstrip().startswith("\\"):
            yield line.strip()
            continue
        found = split(begun + line)
        yield from found.statements
        begun = found.rest
    if begun.strip():
        yield begun.strip()


def run_all(shell: Shell, texts: Iterable[str]) -> int:
    """Run texts one after another, up to the first that fails. Returns the exit status: 0; 1 for an error; 130 if it
    was interrupted.
    """
    try:
        return 0 if all(shell.run_text(text) for text in texts) else 1
    except Quit:
        return 0
    except KeyboardInterrupt:
        complain("canceled")
        return 130

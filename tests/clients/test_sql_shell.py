"""`sluice sql` on a member: statements given on the command line, and interactive use on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.member_process import MemberProcess, wait_until
from support.packages import needs

ENDLESS = (
    "select count(*) from range_of_numbers a, range_of_numbers b, range_of_numbers c where (a.n + b.n + c.n) % 7 = 8;"
)
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    with MemberProcess(tmp_path_factory.mktemp("shell"), environment={"SLUICE_SPARK__START": "lazy"}) as running:
        with running.connect() as connection:
            connection.execute("create table orders (o_key int4 not null, o_total numeric(10, 2), note text)")
            connection.execute("insert into orders values (1, 10.50, 'first'), (2, null, E'two\\nlines')")
            connection.execute("create table range_of_numbers as select g as n from generate_series(1, 20000) g")
        yield running


def command(local: MemberProcess, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "server.cli.main", "sql", local.dsn, *arguments]


def run(local: MemberProcess, *arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(local, *arguments), input=script, capture_output=True, text=True, check=False)


# -- without a terminal ------------------------------------------------------------------------------------------------


@needs("psql")
def test_results_are_printed_as_by_psql(local: MemberProcess) -> None:
    statements = (
        "select * from orders order by 1",
        "select 1 as one, 'x' as text, null as nothing",
        "set datestyle = iso",
    )
    arguments = [argument for statement in statements for argument in ("-c", statement)]
    ours = run(local, *arguments)
    theirs = subprocess.run(["psql", "-X", local.dsn, *arguments], capture_output=True, text=True, check=True)
    assert (ours.returncode, ours.stderr) == (0, "")
    # psql fills the last column up.
    assert [line.rstrip() for line in ours.stdout.splitlines()] == [
        line.rstrip() for line in theirs.stdout.splitlines()
    ]


def test_from_a_file_and_from_standard_input(local: MemberProcess, tmp_path: Path) -> None:
    script = "create table t (a int4);\ninsert into t\nvalues (1), (2);\n\\x\ntable t;\ndrop table t;\n"
    (tmp_path / "script.sql").write_text(script)
    told = [run(local, "-f", str(tmp_path / "script.sql")), run(local, script=script)]
    for each in told:
        assert (each.returncode, each.stderr) == (0, "")
        assert each.stdout.splitlines()[:4] == [
            "CREATE TABLE",
            "INSERT 0 2",
            "Expanded display is on.",
            "-[ RECORD 1 ]",
        ]
    assert told[0].stdout == told[1].stdout


def test_the_first_error_ends_it(local: MemberProcess) -> None:
    told = run(local, script="select 1;\nselect nonesuch\nfrom orders;\nselect 2;\n")
    assert told.returncode == 1
    assert told.stderr.splitlines() == [
        'ERROR:  column "nonesuch" does not exist', "LINE 1: select nonesuch", "               ^",
    ]  # fmt: skip
    assert "(1 row)" in told.stdout
    assert "2" not in told.stdout
    assert run(local, "-c", "\\nonesuch").stderr.startswith("sluice: there is no command \\nonesuch")
    assert run(local, "-f", "/nonesuch").returncode == 1
    gone = subprocess.run(
        [sys.executable, "-m", "server.cli.main", "sql", "host=127.0.0.1 port=1"], capture_output=True, check=False
    )
    assert gone.returncode == 2


def test_describing_and_drawing(local: MemberProcess) -> None:
    told = run(local, script="\\d\n\\d orders\n\\plan select * from orders where o_key = 1\ncopy orders to stdout;\n")
    assert (told.returncode, told.stderr) == (0, "")
    assert " public | orders " in told.stdout
    assert re.search(r"o_total +\| numeric\(10,2\)", told.stdout)
    assert "TABLE READER" in told.stdout
    assert "Filter: (o_key = 1)" in told.stdout
    assert "1\t10.50\tfirst\n" in told.stdout


def test_connecting_to_another_member(local: MemberProcess) -> None:
    for command in ("c", "connect"):
        told = run(local, script=f"\\{command} m1\nselect 'still ' || 'there';\n")
        assert (told.returncode, told.stderr) == (0, "")
        assert f"You are now connected to 127.0.0.1:{local.port}" in told.stdout
        assert "still there" in told.stdout
    assert run(local, script="\\connect nobody\n").returncode == 1


# -- on a terminal -----------------------------------------------------------------------------------------------------


def _have_terminal() -> None:
    """In the new process: standard input becomes the terminal whose Ctrl-C it is told. Where tests run in the background of a shell
    they ignore the signal, and what they start would inherit that."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The shell on a pseudoterminal of its own. said: all that it wrote, without escape sequences."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        environment = {
            **os.environ,
            "TERM": "xterm",
            "SLUICE_HISTORY": str(folder / "history"),
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }
        self._process = subprocess.Popen(
            arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
            preexec_fn=_have_terminal,  # noqa: PLW1509 -- Ctrl-C needs it
        )  # fmt: skip
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.said = ""

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, words: str) -> None:
        """Until it says this after what was waited for last."""
        wait_until(lambda: words in self._read(), 180, lambda: self.said[-2000:])
        self.said = self.said[self.said.index(words) + len(words) :]

    def _read(self) -> str:
        try:
            while block := os.read(self._ours, 65536):
                self.said += _ESCAPES.sub("", block.decode(errors="replace")).replace("\r", "")
        except (BlockingIOError, OSError):
            pass
        return self.said

    def end(self) -> int:
        """Wait until the shell has ended; its exit status."""
        return self._process.wait(180)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


def test_a_person_at_a_terminal(local: MemberProcess, tmp_path: Path) -> None:
    terminal = Terminal(command(local), tmp_path)
    try:
        terminal.wait_for("sluice=>")
        # A statement of several lines, with a name that Tab completes.
        terminal.type("select o_key, note\r")
        terminal.wait_for("->")
        terminal.type("from ord\t")
        # What is on the terminal already is not written again.
        terminal.wait_for("ers")
        terminal.type(" where o_key = 1;\r")
        terminal.wait_for("| first")
        terminal.wait_for("(1 row)")
        terminal.wait_for("sluice=>")
        terminal.type("begin;\r")
        terminal.wait_for("sluice=*>")
        terminal.type("rollback;\r")
        terminal.wait_for("sluice=>")
        # How far a long statement has come, and Ctrl-C.
        terminal.type(f"{ENDLESS}\r")
        terminal.wait_for("running on the local engine for")
        terminal.type("\x03")
        terminal.wait_for("sluice=>")
        terminal.type("\\timing\r")
        terminal.wait_for("Timing is on.")
        terminal.type("select 'still ' || 'there';\r")
        terminal.wait_for("still there")
        terminal.wait_for("Time: ")
        terminal.type("\\c m1\r")
        terminal.wait_for(f"You are now connected to 127.0.0.1:{local.port}")
        terminal.wait_for("sluice=>")
        terminal.type("\x04")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert "+from orders where o_key = 1;" in (tmp_path / "history").read_text()
    wait_until(lambda: not _others(local))


def _others(local: MemberProcess) -> int:
    with local.connect() as connection:
        (count,) = connection.execute("select count(*) from pg_stat_activity").fetchone() or (0,)
    return int(count) - 1

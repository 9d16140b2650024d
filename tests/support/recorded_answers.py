"""Answers of PostgreSQL 15 that are stored beside the statements, so that a run need not ask PostgreSQL for answers
that never change.

The file has one line of JSON for each statement: its text, then the SQLSTATE or the columns and rows. The first line
names the version of PostgreSQL. `RecordedAnswers.ask` returns the recorded answer. For a statement that is not recorded
it asks a server. `--rewrite` asks for all of them and writes the file; `--ask-postgres`, which CI sets, asks for all of
them and fails where the record differs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from support.answers import Answer, Connection, ask, differences

#: The use of a recorded answer: trust it, compare it with the server's answer, or replace it.
Mode = Literal["believe", "compare", "rewrite"]


class RecordedAnswers:
    """The recorded answers of one file. path: the file. connect: returns a connection to a server that has the objects
    that the statements read; it is called when the first statement must be asked.
    """

    def __init__(self, path: Path, mode: Mode, connect: Callable[[], Connection]) -> None:
        self._path, self._mode, self._connect = path, mode, connect
        self._connection: Connection | None = None
        self._answers = _read(path)
        self._asked: set[str] = set()

    def ask(self, statement: str, *, ordered: bool, index: str | None = None) -> Answer:
        """Return PostgreSQL's answer; the server is asked once. ordered: whether the order of its rows counts when the
        record is compared. index: a table and its columns that need an index in PostgreSQL, because the statement takes
        long without it.
        """
        recorded = self._answers.get(statement)
        if recorded is not None and (self._mode == "believe" or statement in self._asked):
            return recorded
        answer = self._ask_server(statement, index)
        self._asked.add(statement)
        if recorded is not None and self._mode == "compare":
            different = differences(recorded, answer, ordered)
            assert different is None, f"{self._path.name} is not what PostgreSQL answers to {statement}: {different}"
        self._answers[statement] = answer
        return answer

    def _ask_server(self, statement: str, index: str | None) -> Answer:
        if index is None:
            return ask(self._server, statement)
        self._server.execute(f"create index of_one_statement on {index}".encode())
        try:
            return ask(self._server, statement)
        finally:
            self._server.execute("drop index of_one_statement")

    @property
    def _server(self) -> Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def close(self) -> None:
        """Write the file if it is to be rewritten."""
        if self._mode == "rewrite" and self._connection is not None:
            major, minor = divmod(self._connection.info.server_version, 10_000)
            lines = [json.dumps({"postgres": f"{major}.{minor}"})]
            lines += [json.dumps(_words(*pair), ensure_ascii=False) for pair in sorted(self._answers.items())]
            self._path.write_text("\n".join(lines) + "\n")


def _words(statement: str, answer: Answer) -> list[Any]:
    return [statement, answer.sqlstate] if answer.sqlstate else [statement, answer.columns, answer.rows]


def _read(path: Path) -> dict[str, Answer]:
    if not path.exists():
        return {}
    _version, *lines = path.read_text().splitlines()
    return dict(map(_answer, lines))


def _answer(line: str) -> tuple[str, Answer]:
    statement, *words = json.loads(line)
    if len(words) == 1:
        return statement, Answer(sqlstate=words[0])
    columns, rows = words
    return statement, Answer(None, tuple((name, oid) for name, oid in columns), tuple(map(tuple, rows)))

"""The shell on a terminal: prompt_toolkit provides line editing, completion, colours and history.

Enter runs a complete input and otherwise begins a new line; Ctrl-C discards the input, Ctrl-D quits.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import psycopg
from prompt_toolkit import PromptSession
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from psycopg.pq import TransactionStatus
from pygments.lexers.sql import PostgresLexer

from server.shell import describing
from server.shell.completion import Names, Relation
from server.shell.printing import complain
from server.shell.shell import Quit, Shell
from server.shell.statements import is_complete

_MARKS: Final = {TransactionStatus.INTRANS: "*", TransactionStatus.INERROR: "!"}


def history_file() -> Path:
    """Return the path in SLUICE_HISTORY, else one in the user's state directory."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(os.environ.get("SLUICE_HISTORY") or Path(state, "sluice", "history")).expanduser()


def interact(shell: Shell) -> int:
    """Read and run input until the user quits. Returns the exit status."""
    names = Names()

    def learn() -> None:
        names.relations = _relations(shell.connection)
        names.members = tuple(describing.members(shell.connection))

    shell.changed = learn
    learn()
    session = _session(names)
    while True:
        try:
            text = session.prompt(
                lambda: _prompt(shell), prompt_continuation=lambda width, _line, _wrapped: "-> ".rjust(width)
            )
            shell.run_text(text)
        except KeyboardInterrupt:
            # psycopg has cancelled the statement and received the answer.
            continue
        except (EOFError, Quit):
            return 0


def _session(names: Names) -> PromptSession[str]:
    keys = KeyBindings()

    @keys.add("enter", filter=Condition(lambda: True))
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    file = history_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    return PromptSession(
        history=FileHistory(str(file)), completer=names, key_bindings=keys, lexer=PygmentsLexer(PostgresLexer), multiline=True,
        complete_while_typing=False, enable_history_search=True,
    )  # fmt: skip


def _prompt(shell: Shell) -> str:
    info = shell.connection.info
    return f"{info.dbname}={_MARKS.get(info.transaction_status, '')}> "


def _relations(connection: psycopg.Connection[Any]) -> tuple[Relation, ...]:
    """Return all relations with their columns; none while a transaction has failed."""
    try:
        rows = connection.execute(describing.NAMES).fetchall()
    except psycopg.Error as error:
        complain(f"names are not completed: {error}")
        return ()
    columns: dict[tuple[str, str, bool], list[str]] = {}
    for schema, name, visible, column in rows:
        found = columns.setdefault((schema, name, visible), [])
        if column is not None:
            found.append(column)
    return tuple(Relation(*key, tuple(found)) for key, found in columns.items())

"""A session's prepared statements by name: the protocol's Parse and SQL's PREPARE share the names.

A prepared statement consists of the parsed statement and of the engine's analysis of the part that the engine runs (all
of a query; the query of DECLARE; nothing of BEGIN).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from engine.contracts.sessions import Prepared, PreparedState, ResultColumn
from engine.sql.parser.masking import mask_passwords
from engine.sql.parser.nodes.statements import ExecuteStatement, Explain, Statement
from server.cursors.remote_cursors import Described
from wire.dataclass import dataclass
from wire.errors import DuplicatePreparedStatement, InvalidSqlStatementName
from wire.pg.datarow import RowEncoder
from wire.types import pg_types as t


class LastEncoder:
    """The encoder of a statement's last rows, which serves the next execution too."""

    __slots__ = ("_columns", "_encoder", "_key")

    def __init__(self) -> None:
        self._columns: Sequence[ResultColumn] | None = None
        self._key: object = None
        self._encoder: RowEncoder | None = None

    def get(self, columns: Sequence[ResultColumn], key: object, make: Callable[[], RowEncoder]) -> RowEncoder:
        """Return the encoder for these columns, the same objects as before, and this key (formats and settings)."""
        if self._encoder is None or columns is not self._columns or key != self._key:
            self._encoder, self._columns, self._key = make(), columns, key
        return self._encoder


@dataclass(frozen=True, slots=True)
class Command:
    """A statement that is ready to be executed with arguments.

    statement: None for an empty query string.
    prepared: the engine's analysis, or None if the engine has no part in the statement.
    far: for a FETCH by query id, the description of the other session's cursor.
    encoder: of its rows.
    """

    statement: Statement | None
    prepared: Prepared | None = None
    far: Described | None = None
    encoder: LastEncoder = field(default_factory=LastEncoder, compare=False, repr=False)

    @property
    def parameters(self) -> tuple[t.PgType, ...]:
        """The types of the arguments that the client must give; EXPLAIN EXECUTE contains its own."""
        if self.prepared is None or (isinstance(self.statement, Explain) and _executes(self.statement)):
            return ()
        return self.prepared.parameters

    @property
    def text(self) -> str:
        return self.statement.text if self.statement else ""


def _executes(statement: Explain) -> bool:
    return isinstance(statement.inner, ExecuteStatement)


@dataclass(frozen=True, slots=True)
class NamedStatement:
    """from_sql: made by PREPARE. source: the command that made it, without passwords, as pg_prepared_statements shows
    it.
    """

    name: str
    command: Command
    source: str
    from_sql: bool = False
    prepared_at: float = field(default_factory=time.time)

    def state(self) -> PreparedState:
        return PreparedState(
            self.name, mask_passwords(self.source), self.prepared_at, self.command.parameters, self.from_sql
        )


class PreparedStatements:
    """Statements by name; the unnamed one ("") is replaced silently and not listed."""

    def __init__(self) -> None:
        self._by_name: dict[str, NamedStatement] = {}

    def __iter__(self) -> Iterator[NamedStatement]:
        return iter([statement for name, statement in self._by_name.items() if name])

    def require_free(self, name: str) -> None:
        if name and name in self._by_name:
            raise DuplicatePreparedStatement(f'prepared statement "{name}" already exists')

    def add(self, statement: NamedStatement) -> None:
        self.require_free(statement.name)
        self._by_name[statement.name] = statement

    def find(self, name: str) -> NamedStatement | None:
        return self._by_name.get(name)

    def get(self, name: str) -> NamedStatement:
        """Return a statement. Raises InvalidSqlStatementName."""
        try:
            return self._by_name[name]
        except KeyError:
            pass
        if not name:
            raise InvalidSqlStatementName("unnamed prepared statement does not exist")
        raise InvalidSqlStatementName(f'prepared statement "{name}" does not exist')

    def drop(self, name: str) -> None:
        """Drop a statement. A name without a statement is no error."""
        self._by_name.pop(name, None)

    def drop_all(self) -> None:
        self._by_name.clear()

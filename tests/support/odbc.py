"""psqlODBC through unixODBC, called with ctypes: for tests that browse the catalog as Excel or a BI tool does.

    with Odbc(port=5432, user="me", database="sluice") as odbc:
        odbc.rows("Tables", None, "public", "%", None)

It calls the functions that pyodbc is built on, and the catalog functions for which pyodbc has no method. Texts are
UTF-16, unixODBC's SQLWCHAR.
"""

from __future__ import annotations

import ctypes
from ctypes.util import find_library
from types import TracebackType
from typing import Any, Final, Self

from support.packages import require

_SUCCESS: Final = (0, 1)
_NO_DATA: Final = 100
_NTS: Final = -3
_ENVIRONMENT, _CONNECTION, _STATEMENT = 1, 2, 3
_VERSION, _ODBC3 = 200, 3
_WIDE: Final = -8
_ROOM: Final = 8192


class OdbcError(Exception):
    """The driver's diagnostics of a failed call: its SQLSTATE and text."""


def _text(text: str | None) -> tuple[Any, ctypes.c_short]:
    """Convert a name to an argument and its length. None means no name."""
    if text is None:
        return None, ctypes.c_short(0)
    return ctypes.create_string_buffer(text.encode("utf-16-le") + b"\0\0"), ctypes.c_short(_NTS)


class Odbc:
    """A connection. Skips the test where unixODBC is missing."""

    def __init__(self, *, port: int, user: str, database: str, host: str = "127.0.0.1") -> None:
        library = find_library("odbc")
        require(library)
        self._odbc = ctypes.CDLL(library)
        self._words = (
            f"Driver=PostgreSQL Unicode;Server={host};Port={port};Database={database};Uid={user};SSLmode=disable"
        )

    def __enter__(self) -> Self:
        self._environment = self._handle(_ENVIRONMENT, None)
        self._odbc.SQLSetEnvAttr(self._environment, _VERSION, ctypes.c_void_p(_ODBC3), 0)
        self._connection = self._handle(_CONNECTION, self._environment)
        words, length = _text(self._words)
        done = self._odbc.SQLDriverConnectW(self._connection, None, words, length, None, 0, None, 0)
        self._check(done, _CONNECTION, self._connection)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._odbc.SQLDisconnect(self._connection)
        self._odbc.SQLFreeHandle(_CONNECTION, self._connection)
        self._odbc.SQLFreeHandle(_ENVIRONMENT, self._environment)

    def rows(self, function: str, *arguments: str | int | None) -> list[str]:
        """Call a catalog function. Returns its columns with their SQL types, then its rows. Arguments that are texts or
        None are names, which ODBC takes with their length. Raises OdbcError.
        """
        given: list[Any] = []
        for argument in arguments:
            given += [ctypes.c_ushort(argument)] if isinstance(argument, int) else _text(argument)
        statement = self._handle(_STATEMENT, self._connection)
        try:
            self._check(getattr(self._odbc, f"SQL{function}W")(statement, *given), _STATEMENT, statement)
            return self._read(statement)
        finally:
            self._odbc.SQLFreeHandle(_STATEMENT, statement)

    def info(self, number: int) -> bytes | None:
        """Call SQLGetInfo. Returns the bytes that it wrote, or None where the driver does not know the number."""
        buffer, length = ctypes.create_string_buffer(_ROOM), ctypes.c_short()
        done = self._odbc.SQLGetInfoW(
            self._connection, ctypes.c_ushort(number), buffer, ctypes.c_short(_ROOM), ctypes.byref(length)
        )
        return buffer.raw[: length.value] if done in _SUCCESS else None

    def _read(self, statement: ctypes.c_void_p) -> list[str]:
        width = ctypes.c_short()
        self._check(self._odbc.SQLNumResultCols(statement, ctypes.byref(width)), _STATEMENT, statement)
        numbers = range(1, width.value + 1)
        lines = [" | ".join(self._described(statement, number) for number in numbers)]
        while (done := self._odbc.SQLFetch(statement)) != _NO_DATA:
            self._check(done, _STATEMENT, statement)
            lines.append(" | ".join(self._value(statement, number) for number in numbers))
        return lines

    def _described(self, statement: ctypes.c_void_p, number: int) -> str:
        name, kind, size, digits, nullable, length = (
            ctypes.create_string_buffer(_ROOM), ctypes.c_short(), ctypes.c_size_t(), ctypes.c_short(), ctypes.c_short(),
            ctypes.c_short(),
        )  # fmt: skip
        done = self._odbc.SQLDescribeColW(
            statement, ctypes.c_ushort(number), name, ctypes.c_short(_ROOM // 2), ctypes.byref(length), ctypes.byref(kind),
            ctypes.byref(size), ctypes.byref(digits), ctypes.byref(nullable),
        )  # fmt: skip
        self._check(done, _STATEMENT, statement)
        return f"{name.raw[: length.value * 2].decode('utf-16-le')} {kind.value}({size.value},{digits.value})"

    def _value(self, statement: ctypes.c_void_p, number: int) -> str:
        buffer, length = ctypes.create_string_buffer(_ROOM), ctypes.c_ssize_t()
        done = self._odbc.SQLGetData(
            statement,
            ctypes.c_ushort(number),
            ctypes.c_short(_WIDE),
            buffer,
            ctypes.c_ssize_t(_ROOM),
            ctypes.byref(length),
        )
        self._check(done, _STATEMENT, statement)
        return "None" if length.value < 0 else buffer.raw[: length.value].decode("utf-16-le")

    def _handle(self, kind: int, above: ctypes.c_void_p | None) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        assert self._odbc.SQLAllocHandle(ctypes.c_short(kind), above, ctypes.byref(made)) in _SUCCESS
        return made

    def _check(self, done: int, kind: int, handle: ctypes.c_void_p) -> None:
        if ctypes.c_short(done).value in _SUCCESS:
            return
        state, said = ctypes.create_string_buffer(16), ctypes.create_string_buffer(_ROOM)
        self._odbc.SQLGetDiagRecW(
            ctypes.c_short(kind), handle, ctypes.c_short(1), state, None, said, ctypes.c_short(_ROOM // 2), None
        )
        raise OdbcError(*(text.raw.decode("utf-16-le").partition("\0")[0] for text in (state, said)))

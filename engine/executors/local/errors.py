"""Translation of DuckDB's errors into those that a client sees. This is the only place where they are translated.

Errors raised by the function table carry their SQLSTATE and message (`SQLSTATE:xxxxx:message`, see
`engine.sql.functions`). DuckDB's own errors are recognised by their text; the rows below give PostgreSQL's message and
SQLSTATE for each. Any other error is a defect of Sluice: XX000, with DuckDB's text in the log.

Source: the messages of DuckDB 2.0; PostgreSQL's from its `errmsg` calls.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Final

import duckdb

from engine.common.error_codec import error_from_text
from engine.common.sql_type import MAX_PRECISION
from wire.errors import (
    BadCopyFileFormat,
    CardinalityViolation,
    DataCorrupted,
    DatetimeFieldOverflow,
    DiskFull,
    DivisionByZero,
    FeatureNotSupported,
    InsufficientResources,
    InternalError,
    InvalidDatetimeFormat,
    InvalidRegularExpression,
    InvalidTextRepresentation,
    IoError,
    NumericValueOutOfRange,
    OutOfMemory,
    ProgramLimitExceeded,
    QueryCanceled,
    SqlError,
    StatementTooComplex,
    StringDataLengthMismatch,
    UndefinedFile,
)
from wire.types.numbers_input import numeric_overflow

_log = logging.getLogger(__name__)

_TYPES: Final = {
    "BOOL": "boolean",
    "INT16": "smallint",
    "INT32": "integer",
    "INT64": "bigint",
    "INT128": "bigint",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "UUID": "uuid",
    "INTERVAL": "interval",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
}
#: The least integers, by which an error that does not name the type identifies it.
_LEAST: Final = {"32768": "smallint", "2147483648": "integer", "9223372036854775808": "bigint"}
_DATETIMES: Final = ("interval", "date", "time", "timestamp")

#: The point in a message at which DuckDB begins to show the statement.
_SHOWN: Final = re.compile(r"\n[^\S\n]*+LINE \d++:")
_NUMBER: Final = re.compile(r"\s*+[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?\s*+")

_Make = Callable[[re.Match[str]], SqlError]


def _type_name(name: str) -> str:
    return "numeric" if name.startswith("DECIMAL") else _TYPES.get(name, name.lower())


def _raised_error(found: re.Match[str]) -> SqlError:
    shown = _SHOWN.search(found[2])
    return SqlError(found[2][: shown.start() if shown else None].rstrip(), sqlstate=found[1])


def _out_of_range(found: re.Match[str]) -> SqlError:
    name = _type_name(found["type"])
    if name == "numeric":
        return _too_many_digits(found)
    if name in ("real", "double precision"):
        return NumericValueOutOfRange("value out of range: overflow")
    return NumericValueOutOfRange(f"{name} out of range")


def _least_integer(found: re.Match[str]) -> SqlError:
    """Return the overflow error of an integer that has no positive counterpart; the value tells its type."""
    return NumericValueOutOfRange(f"{_LEAST.get(found['value'], 'bigint')} out of range")


def _too_many_digits(found: re.Match[str]) -> SqlError:
    """Return the overflow error of a numeric. It names the precision if one was declared; a computed numeric has the
    engine's maximum.
    """
    digits = re.search(r"DECIMAL\((\d+),\s*(\d+)\)", found.string[found.start("type") :])
    if digits is None or int(digits[1]) == MAX_PRECISION:
        return NumericValueOutOfRange("numeric field overflow")
    return numeric_overflow(int(digits[1]), int(digits[2]))


def _invalid_text(found: re.Match[str]) -> SqlError:
    name, value = _type_name(found["type"]), found["value"]
    if name in ("smallint", "integer", "bigint") and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return NumericValueOutOfRange(f'value "{value}" is out of range for type {name}')
    if name == "numeric" and _NUMBER.fullmatch(value):
        return _too_many_digits(found)
    kind = InvalidDatetimeFormat if name in _DATETIMES else InvalidTextRepresentation
    return kind(f'invalid input syntax for type {name}: "{value}"')


def _invalid_field(found: re.Match[str]) -> SqlError:
    """Return the error for a field of a CSV file that its column's type does not accept. It reports the place as COPY
    does, with the file.
    """
    error = _invalid_text(found)
    path = found.string.rpartition("\n  file = ")[2].partition("\n")[0]
    error.context = f'line {found["line"]} of file "{path}", column {found["column"]}: "{found["value"]}"'
    return error


def _invalid_file(found: re.Match[str]) -> SqlError:
    """Return the error for a CSV file that cannot be read, usually because its lines have other fields than the table
    has columns.
    """
    said = found.string
    path = found["path"] or said.rpartition("\n  file = ")[2].partition("\n")[0]
    line = "" if found["line"] is None else f"line {found['line']} of "
    return BadCopyFileFormat(
        f'could not read {line}file "{path}" as CSV with the columns of the table',
        hint="The options delimiter, quote, escape, header and null say how the file is written.",
    )


def _invalid_datetime(found: re.Match[str]) -> SqlError:
    return InvalidDatetimeFormat(f'invalid input syntax for type {found["type"]}: "{found["value"]}"')


def _datetime_overflow(found: re.Match[str]) -> SqlError:
    return DatetimeFieldOverflow(f'date/time field value out of range: "{found["value"]}"')


def _bits_of_sizes(found: re.Match[str]) -> SqlError:
    return StringDataLengthMismatch(f"cannot {found['what']} bit strings of different sizes")


def _no_parquet(found: re.Match[str]) -> SqlError:
    return DataCorrupted(f'"{found["path"]}" is no Parquet file')


def _missing_file(found: re.Match[str]) -> SqlError:
    return UndefinedFile(f'could not open file "{found["path"]}": No such file or directory')


def _unreachable_store(found: re.Match[str]) -> SqlError:
    return IoError("could not read from an object store", detail=found["why"])


def _always(kind: type[SqlError], message: str) -> _Make:
    return lambda _found: kind(message)


#: DuckDB's messages with PostgreSQL's errors in their place; the first match counts. These texts quote values of users. Where
#: any text may stand between two words, only the first occurrence of the first word is tried (`\A(?>.*?first)`): a word that
#: does not follow it follows no later occurrence, and trying all of them takes the square of the text's length.
_ROWS: Final[tuple[tuple[re.Pattern[str], _Make], ...]] = tuple(
    (re.compile(pattern, re.DOTALL), make)
    for pattern, make in (
        # Not after a quote, where it would be part of the statement, which DuckDB shows.
        (r"(?<!['\"])SQLSTATE:([0-9A-Z]{5}):(.*)", _raised_error),
        # The text with which Arrow's reader reports an interrupt.
        (r"^INTERRUPT Error: ", _always(QueryCanceled, "canceling statement due to user request")),
        (r"Division by zero|[Dd]ivi(?:sion|de) by zero", _always(DivisionByZero, "division by zero")),
        (r"\A(?>.*?Overflow (?:in|on) ).*?(?P<type>INT\d+|DECIMAL|FLOAT|DOUBLE)\b", _out_of_range),
        (r"Overflow (?:on abs\(|in division of )-(?P<value>\d+)", _least_integer),
        (r"lcm value is out of range", _always(NumericValueOutOfRange, "bigint out of range")),
        (r"out of range for the destination type (?P<type>\w+)", _out_of_range),
        (r"\A(?>.*?(?:Could not cast value|Casting|cast decimal value) ).*? to (?:type )?(?P<type>DECIMAL|INT\d+)",
         _out_of_range),
        (r"Unimplemented type for cast \([^\n)]*\[\]",
         _always(FeatureNotSupported, "not supported: arrays of several numbers of dimensions in one column")),
        (r"Cannot copy BoundSubqueryExpression",
         _always(FeatureNotSupported, "not supported: a subquery in the argument of a DISTINCT aggregate")),
        (r"Correlated columns not supported in LIMIT/OFFSET",
         _always(FeatureNotSupported, "not supported: LIMIT or OFFSET by a column of an outer query")),
        (r"RANGE frames must have only one ORDER BY expression",
         _always(FeatureNotSupported, "not supported: a RANGE frame over values of this type")),
        (r"\A(?>.*?Type INT32 with value ).* can't be cast to the destination type INT64",
         _always(DatetimeFieldOverflow, "date out of range for timestamp")),
        (r"\A(?>.*?CSV Error on Line: )(?P<line>\d++)(?>.*?\nError when converting column \")(?P<column>[^\n]*?)\"\. "
         r"Could not convert string \"(?P<value>.*?)\" to '(?P<type>\w+)", _invalid_field),
        (r"\A(?>.*?(?:CSV Error on Line: (?P<line>\d++)|Error when sniffing file \"(?P<path>[^\n]*?)\"))", _invalid_file),
        (r"\A(?>.*?Could not convert string (?P<q>['\"]))(?P<value>.*?)(?P=q) to (?P<type>\w+)", _invalid_text),
        (r"\A(?>.*?(?:date|time|timestamp) field value out of range: \")(?P<value>.*?)\"", _datetime_overflow),
        (r"\A(?>.*?invalid (?P<type>date|time|timestamp) field format: \")(?P<value>.*?)\"", _invalid_datetime),
        (r"Date out of range|[Dd]ate and time not in timestamp range", _always(DatetimeFieldOverflow, "timestamp out of range")),
        (r"Epoch seconds out of range|\A(?>.*?[Tt]imestamp).* out of range",
         _always(DatetimeFieldOverflow, "timestamp out of range")),
        (r"\A(?>.*?[Ii]nterval).* out of range", _always(DatetimeFieldOverflow, "interval out of range")),
        (
            r"More than one row returned by a subquery",
            _always(CardinalityViolation, "more than one row returned by a subquery used as an expression"),
        ),
        (r"\A(?>.*?No files found that match the pattern \")(?P<path>.*?)\"", _missing_file),
        (r"(?:\A|\n)(?>[^\n]*?OSError: )(?P<why>[^\n]*?AWS Error[^\n]*)", _unreachable_store),
        (r"\A(?>.*?Cannot open file \")(?P<path>.*?)\": No such file", _missing_file),
        (r"\AInvalid Input Error: File '(?P<path>.*?)' too small to be a Parquet file", _no_parquet),
        (r"\AInvalid Input Error: No magic bytes found at end of file '(?P<path>.*?)'", _no_parquet),
        (r"No space left on device", _always(DiskFull, "could not write to file: No space left on device")),
        (r"Too many open files", _always(InsufficientResources, "out of file descriptors: Too many open files; repeat it later")),
        (r"Invalid Input Error: (?:missing [\])]|no argument for repetition|invalid (?:perl|escape|repetition|character|"
         r"named|UTF-8))", _always(InvalidRegularExpression, "invalid regular expression")),
        (r"Cannot (?P<what>AND|OR|XOR) bit strings of different sizes", _bits_of_sizes),
        (r"Cannot create a string of size", _always(ProgramLimitExceeded, "requested length too large")),
        (r"[Mm]ax(?:imum)? expression depth|stack overflow|maximum recursion depth exceeded|"
         r"Recursion level in ArrowSchema struct exceeded", _always(StatementTooComplex, "stack depth limit exceeded")),
        (r"^Out of Range Error: (?!.*LINE)", _always(NumericValueOutOfRange, "value out of range")),
    )
)  # fmt: skip


def translate(error: Exception, statement: str = "") -> SqlError:
    """Return the SqlError for an exception that was raised while `statement` ran."""
    if isinstance(error, SqlError):
        return error
    if isinstance(error, duckdb.InterruptException):
        return QueryCanceled("canceling statement due to user request")
    if isinstance(error, (duckdb.OutOfMemoryException, MemoryError)):
        return OutOfMemory("out of memory", detail="The local engine's memory limit is reached.")
    text = str(error)
    if (told := error_from_text(text)) is not None:
        return told
    for pattern, make in _ROWS:
        found = pattern.search(text)
        if found:
            return make(found)
    _log.error("the local engine failed: %s\n%s", text, statement)
    if isinstance(error, duckdb.NotImplementedException):
        return FeatureNotSupported("not supported: this statement in the local engine")
    return InternalError("the local engine failed", detail="The member's log has the cause.")

"""Translation of Spark's errors into those that a client sees. This is the only place where they are translated.

Two kinds of errors carry a meaning: texts that the function table raises itself (`SQLSTATE:xxxxx:message`, see
`engine.sql.functions`), and Spark's own error conditions (`[DIVIDE_BY_ZERO] ...`), for which the rows below give
PostgreSQL's message and SQLSTATE. An error may arrive as a PySpark exception or as the text of a failed task; both are
read as text. Any other error is a defect of Sluice: XX000 without Java's stack trace, which goes to the log.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from engine.common.error_codec import error_from_text
from engine.common.sql_type import MAX_PRECISION
from wire.errors import (
    ArraySubscriptError,
    CardinalityViolation,
    ConnectionFailure,
    DataCorrupted,
    DatetimeFieldOverflow,
    DivisionByZero,
    FeatureNotSupported,
    InternalError,
    InvalidDatetimeFormat,
    InvalidParameterValue,
    InvalidRegularExpression,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
    OutOfMemory,
    ProgramLimitExceeded,
    QueryCanceled,
    SerializationFailure,
    SqlError,
    StatementTooComplex,
    UndefinedFile,
)
from wire.types.numbers_input import numeric_overflow

_log = logging.getLogger(__name__)

#: SQL type names in Spark's messages, and PostgreSQL's.
_TYPES: Final = {
    "BOOLEAN": "boolean",
    "SMALLINT": "smallint",
    "INT": "integer",
    "BIGINT": "bigint",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "DATE": "date",
    "TIMESTAMP": "timestamp with time zone",
    "TIMESTAMP_NTZ": "timestamp without time zone",
    "BINARY": "bytea",
}
_DATETIMES: Final = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_OVERFLOWING: Final = {"short": "smallint", "integer": "integer", "int": "integer", "long": "bigint"}

#: Not after a quote, where it would be part of a statement, nor after the argument's name, where it would be part of a
#: plan: Spark's errors show the statement or the plan that they come from.
_RAISED: Final = re.compile(r"(?<!['\"])(?<!errorMessage, )SQLSTATE:([0-9A-Z]{5}):(.*?)(?: SQLSTATE: P0001|[\r\n]|$)")
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ?([^\r\n]*)")
_CAST: Final = re.compile(
    # Only the first `value` is tried, and types match possessively, because the text quotes a value of a user.
    r"\A(?>.*?[Vv]alue )(.*) of the type \"([A-Z_]++)[^\"]*+\" cannot be cast to \"([A-Z_]++)[^\"]*+\"",
    re.DOTALL,
)
_DECIMAL: Final = re.compile(r"cannot be represented as Decimal\((\d+), (\d+)\)")
#: Java's own error, which Spark does not translate where it converts a date to a timestamp, or shifts one.
_OVERFLOW: Final = re.compile(r"java\.lang\.ArithmeticException: (long|integer) overflow")
#: The method that Spark fails to call where the condition of a subquery that became a join calls a Python function.
_TASK_FUNCTION_IN_JOIN: Final = "usePythonUDFInJoinConditionUnsupportedError"
_MEMORY: Final = ("java.lang.OutOfMemoryError", "SparkOutOfMemoryError", "UNABLE_TO_ACQUIRE_MEMORY")
_CANCELLED: Final = ("cancelled part of cancelled job", "SPARK_JOB_CANCELLED", "java.lang.InterruptedException")
#: An executor that ends, as when its worker was lost, still receives tasks and refuses them.
_EXECUTOR_ENDS: Final = "RejectedExecutionException: Task org.apache.spark.executor.Executor$TaskRunner@"
#: Reasons why a task could not send; the receiving member knows more (`engine.exchange.send`).
_LOST: Final = ("StreamLost", "ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError")


def _out_of_range(name: str) -> SqlError:
    if name.startswith("DECIMAL"):
        return NumericValueOutOfRange("numeric field overflow")
    return NumericValueOutOfRange(f"{_TYPES.get(name, 'value')} out of range")


def _cast_overflow(message: str) -> SqlError:
    found = _CAST.search(message)
    return _out_of_range(found[3]) if found else NumericValueOutOfRange("value out of range")


def _cast_invalid(message: str) -> SqlError:
    found = _CAST.search(message)
    if not found:
        return InvalidTextRepresentation("invalid input syntax")
    value, target = found[1].strip().removeprefix("'").removesuffix("'"), found[3]
    kind = InvalidDatetimeFormat if target in _DATETIMES else InvalidTextRepresentation
    name = "numeric" if target.startswith("DECIMAL") else _TYPES.get(target, target.lower())
    return kind(f'invalid input syntax for type {name}: "{value}"')


def _arithmetic(message: str) -> SqlError:
    word = message.split(" ", 1)[0].lower()
    if "integral divide" in message:  # DIV computes in bigint, whatever the operands are
        word = "long"
    return NumericValueOutOfRange(f"{_OVERFLOWING.get(word, 'value')} out of range")


def _numeric(message: str) -> SqlError:
    """Return the overflow error of a numeric. It names the precision if one was declared; computed numerics have the
    engine's maximum.
    """
    found = _DECIMAL.search(message)
    if found is None or int(found[1]) == MAX_PRECISION:
        return NumericValueOutOfRange("numeric field overflow")
    return numeric_overflow(int(found[1]), int(found[2]))


def _always(kind: type[SqlError], message: str) -> Callable[[str], SqlError]:
    return lambda _message: kind(message)


def _mismatch(message: str) -> SqlError:
    """Return the error for types that Spark's analysis rejects and that the binder could not detect: above all arrays
    of several dimensions.
    """
    return FeatureNotSupported("not supported: an expression over these types in Spark", detail=message)


def _correlated_subquery_error(_message: str) -> SqlError:
    return FeatureNotSupported("not supported: this correlated subquery in Spark")


#: Error conditions by their first part; most of them come from ANSI mode.
_CONDITIONS: Final[dict[str, Callable[[str], SqlError]]] = {
    "DIVIDE_BY_ZERO": _always(DivisionByZero, "division by zero"),
    "INTERVAL_DIVIDED_BY_ZERO": _always(DivisionByZero, "division by zero"),
    "REMAINDER_BY_ZERO": _always(DivisionByZero, "division by zero"),
    "ARITHMETIC_OVERFLOW": _arithmetic,
    "BINARY_ARITHMETIC_OVERFLOW": _always(NumericValueOutOfRange, "smallint out of range"),
    "CAST_OVERFLOW": _cast_overflow,
    "CAST_INVALID_INPUT": _cast_invalid,
    "NUMERIC_VALUE_OUT_OF_RANGE": _numeric,
    "NUMERIC_OUT_OF_SUPPORTED_RANGE": _numeric,
    "INTERVAL_ARITHMETIC_OVERFLOW": _always(DatetimeFieldOverflow, "interval out of range"),
    "DATETIME_OVERFLOW": _always(DatetimeFieldOverflow, "timestamp out of range"),
    "DATETIME_FIELD_OUT_OF_BOUNDS": _always(DatetimeFieldOverflow, "date/time field value out of range"),
    "CANNOT_PARSE_TIMESTAMP": _always(InvalidDatetimeFormat, "invalid input syntax for type timestamp"),
    "CANNOT_PARSE_TIME": _always(InvalidDatetimeFormat, "invalid input syntax for type time"),
    "INVALID_ARRAY_INDEX": _always(ArraySubscriptError, "array subscript out of range"),
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": _always(ArraySubscriptError, "array subscript out of range"),
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": _always(
        CardinalityViolation, "more than one row returned by a subquery used as an expression"
    ),
    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY": _correlated_subquery_error,
    # The binder has resolved all names: what remains is a name of a query two levels further out, where Spark does not look.
    "UNRESOLVED_COLUMN": _correlated_subquery_error,
    "DATATYPE_MISMATCH": _mismatch,
    "RECURSION_LEVEL_LIMIT_EXCEEDED": _always(StatementTooComplex, "recursive query exceeds Spark's limit of levels"),
    "RECURSION_ROW_LIMIT_EXCEEDED": _always(StatementTooComplex, "recursive query exceeds Spark's limit of rows"),
    "COLLECTION_SIZE_LIMIT_EXCEEDED": _always(ProgramLimitExceeded, "array size exceeds the maximum allowed"),
    "INVALID_PARAMETER_VALUE": _always(InvalidParameterValue, "invalid parameter value"),
    "INVALID_REGEXP_REPLACE": _always(InvalidRegularExpression, "invalid regular expression"),
    "PATH_NOT_FOUND": _always(UndefinedFile, "could not open a file of a foreign table: it does not exist"),
    "FAILED_READ_FILE": _always(DataCorrupted, "could not read a file of a foreign table"),
    "MALFORMED_RECORD_IN_PARSING": _always(DataCorrupted, "a file of a foreign table has a malformed record"),
}


def translate(error: BaseException) -> SqlError:
    """Return the SqlError for an exception that a Spark action raised."""
    if isinstance(error, SqlError):
        return error
    text = text_of(error)
    known = translate_text(text)
    if known is not None:
        return known
    if any(word in text for word in _LOST):
        return ConnectionFailure("a data connection to another member was lost")
    if _EXECUTOR_ENDS in text:
        return SerializationFailure(
            "could not complete the query: an executor of Spark has ended", hint="The statement may be repeated."
        )
    # The error itself is not logged: formatters request its text, which fails in PySpark once the JVM is gone.
    _log.error("Spark failed: %s\n%s", text, "".join(traceback.format_tb(error.__traceback__)))
    return InternalError(f"Spark failed: {_first_line(text)}")


def translate_text(text: str) -> SqlError | None:
    """Return the SqlError that an error's text stands for; None if the text has nothing that a client could use."""
    told = error_from_text(text)
    if told is not None:
        return told
    raised = _RAISED.search(text)
    if raised:
        return SqlError(raised[2].strip(), sqlstate=raised[1])
    if any(word in text for word in _MEMORY):
        return OutOfMemory("out of memory", detail="Spark's memory did not suffice for this query.")
    for condition, message in _CONDITION.findall(text):
        if condition == "FAILED_READ_FILE.FILE_NOT_EXIST":
            return _CONDITIONS["PATH_NOT_FOUND"](message)
        known = _CONDITIONS.get(condition.split(".", 1)[0])
        if known is not None and not _wraps_another(condition, text):
            return known(message)
    if _TASK_FUNCTION_IN_JOIN in text:
        return _correlated_subquery_error(text)
    if _OVERFLOW.search(text):
        return DatetimeFieldOverflow("timestamp out of range")
    if any(word in text for word in _CANCELLED):
        return QueryCanceled("canceling statement due to user request")
    return None


def _wraps_another(condition: str, text: str) -> bool:
    """Return whether an error condition wraps another error. FAILED_READ_FILE wraps any error that occurs while a file
    is read, including the query's own.
    """
    if not condition.startswith("FAILED_READ_FILE"):
        return False
    names = (found.split(".", 1)[0] for found, _ in _CONDITION.findall(text))
    return any(name in _CONDITIONS and name != "FAILED_READ_FILE" for name in names)


def report_stopped(log: Path) -> SerializationFailure:
    """Log that Spark's context has stopped, and return the error for what ran on it. log: Spark's own log."""
    _log.warning("Spark's application was stopped, as when its master removes it; see %s", log)
    return SerializationFailure(
        "could not complete the query: Spark's application was stopped",
        hint="The statement may be repeated: Spark is started again for it.",
    )


def text_of(error: BaseException) -> str:
    """Return the texts of an error and its causes, Java's first: Py4J's own text only says that there was an error."""
    parts: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        parts += _texts(seen)
        seen = seen.__cause__
    return "\n".join(parts)


def _texts(error: BaseException) -> list[str]:
    # Imported here because members without Spark import this module too; where there are errors, Spark has been imported.
    from py4j.protocol import Py4JError

    # An exception of Java's lives in the JVM, which must be asked for its text and may be gone.
    try:
        return [*_java_texts(getattr(error, "java_exception", None)), str(error)]
    except (Py4JError, OSError):
        return [f"{type(error).__name__}: Spark has ended"]


def _java_texts(java: Any) -> Iterator[str]:
    """Yield the texts of Java's causes, the innermost first: it is the actual error, and the others wrap it."""
    texts: list[str] = []
    while java is not None:
        texts.append(str(java.toString()))
        java = java.getCause()
    return reversed(texts)


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].strip() or "no message"

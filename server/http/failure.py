"""Errors in Trino's form: an error code, name and type of Trino's, beside PostgreSQL's SQLSTATE and message.

Source: Trino's StandardErrorCode; PostgreSQL 15, Appendix A "PostgreSQL Error Codes".
"""

from __future__ import annotations

from typing import Any, Final

from buenavista.http.schemas import QueryError

from wire.errors import SqlError

#: Trino's error code, name and type by SQLSTATE, or by its class if that is sufficient.
_USER: Final = "USER_ERROR"
_RESOURCES: Final = "INSUFFICIENT_RESOURCES"
_INTERNAL: Final = "INTERNAL_ERROR"
_CODES: Final[dict[str, tuple[int, str, str]]] = {
    "07001": (80, "INVALID_PARAMETER_USAGE", _USER),
    "0A000": (13, "NOT_SUPPORTED", _USER),
    "21000": (28, "SUBQUERY_MULTIPLE_ROWS", _USER),
    "22003": (19, "NUMERIC_VALUE_OUT_OF_RANGE", _USER),
    "22012": (8, "DIVISION_BY_ZERO", _USER),
    "22007": (9, "INVALID_CAST_ARGUMENT", _USER),
    "22P02": (9, "INVALID_CAST_ARGUMENT", _USER),
    "22": (7, "INVALID_FUNCTION_ARGUMENT", _USER),
    "23": (16, "CONSTRAINT_VIOLATION", _USER),
    "25006": (23, "READ_ONLY_VIOLATION", _USER),
    "25P01": (21, "NOT_IN_TRANSACTION", _USER),
    "25P02": (22, "TRANSACTION_ALREADY_ABORTED", _USER),
    "25P03": (20, "UNKNOWN_TRANSACTION", _USER),
    "26000": (5, "NOT_FOUND", _USER),
    "28": (4, "PERMISSION_DENIED", _USER),
    "3D000": (44, "CATALOG_NOT_FOUND", _USER),
    "3F000": (45, "SCHEMA_NOT_FOUND", _USER),
    "40001": (17, "TRANSACTION_CONFLICT", _USER),
    "42501": (4, "PERMISSION_DENIED", _USER),
    "42601": (1, "SYNTAX_ERROR", _USER),
    "42701": (51, "COLUMN_ALREADY_EXISTS", _USER),
    "42702": (62, "AMBIGUOUS_NAME", _USER),
    "42703": (47, "COLUMN_NOT_FOUND", _USER),
    "42704": (5, "NOT_FOUND", _USER),
    "42803": (64, "MISSING_GROUP_BY", _USER),
    "42804": (58, "TYPE_MISMATCH", _USER),
    "42846": (58, "TYPE_MISMATCH", _USER),
    "42883": (6, "FUNCTION_NOT_FOUND", _USER),
    "42P01": (46, "TABLE_NOT_FOUND", _USER),
    "42P06": (49, "SCHEMA_ALREADY_EXISTS", _USER),
    "42P07": (50, "TABLE_ALREADY_EXISTS", _USER),
    "42710": (12, "ALREADY_EXISTS", _USER),
    "53": (131074, "QUERY_QUEUE_FULL", _RESOURCES),
    "54": (131072, "GENERIC_INSUFFICIENT_RESOURCES", _RESOURCES),
    "57014": (3, "USER_CANCELED", _USER),
    "57P01": (65545, "SERVER_SHUTTING_DOWN", _INTERNAL),
    "57P05": (20, "UNKNOWN_TRANSACTION", _USER),
    "57P03": (65545, "SERVER_SHUTTING_DOWN", _INTERNAL),
    "XX": (65536, "GENERIC_INTERNAL_ERROR", _INTERNAL),
}
_OTHERS: Final = (0, "GENERIC_USER_ERROR", _USER)


class Failure(QueryError):
    """buenavista's error message, with location and further details as optional fields."""

    error_location: dict[str, int] | None = None  # type: ignore[assignment]
    failure_info: dict[str, Any] | None = None  # type: ignore[assignment]


def failure(error: SqlError, text: str | None = None) -> Failure:
    """Describe an error for a client. text: the statement as it was sent, if the error's position counts in it."""
    code, name, kind = _CODES.get(error.sqlstate) or _CODES.get(error.sqlstate[:2], _OTHERS)
    words = [error.message]
    words += [f"{label}: {more}" for label, more in (("DETAIL", error.detail), ("HINT", error.hint)) if more]
    return Failure(
        message="\n".join(words),
        sql_state=error.sqlstate,
        error_code=code,
        error_name=name,
        error_type=kind,
        retriable=error.sqlstate == "40001",
        error_location=_location(error, text),
        failure_info={"type": type(error).__name__, "message": error.message, "suppressed": [], "stack": []},
    )


def _location(error: SqlError, text: str | None) -> dict[str, int] | None:
    if error.position is None or text is None:
        return None
    before = text[: error.position - 1]
    return {"lineNumber": before.count("\n") + 1, "columnNumber": len(before) - (before.rfind("\n") + 1) + 1}

"""Errors that a client sees, each with its SQLSTATE.

All failures in Sluice are expressed in this one vocabulary. Code below a session raises a `SqlError`, or translates a
foreign error into one, once, at the boundary that understands it: `engine.executors.local` translates DuckDB's errors,
`engine.executors.spark` Spark's. The PostgreSQL wire turns a `SqlError` into an ErrorResponse, the mesh into a
`cancel`. The class of an error fixes its SQLSTATE, so code raises `UndefinedColumn(...)` and never spells a code twice.

Source of the codes: PostgreSQL 15, appendix A.
"""

from __future__ import annotations

from typing import ClassVar

from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """The objects that an error is about, as separate fields, so that programs need not parse the message."""

    schema: str | None = None
    table: str | None = None
    column: str | None = None
    data_type: str | None = None
    constraint: str | None = None


class SqlError(Exception):
    """A failure as a PostgreSQL client sees it.

    Arguments:
        message: the primary message: one line, lower case, no full stop, as PostgreSQL writes them.
        detail, hint: optional further sentences; capital letter and full stop.
        position: 1-based character offset into the statement's text, or None.
        sqlstate: overrides the class's code (for errors that arrive from elsewhere with their code).
        about: the objects that the error is about, or None.
    context: the place of the error if it is not in the statement, such as a line of COPY's input.
    row: the number of the row that the error is about, among those that a statement writes, from 0; None: not known.
    routine: the routine of PostgreSQL that raises the error, for errors that clients recognise by it.
    """

    sqlstate: str
    context: str | None = None
    row: int | None = None
    default_sqlstate: ClassVar[str] = "XX000"
    severity: ClassVar[str] = "ERROR"
    routine: ClassVar[str | None] = None

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        position: int | None = None,
        sqlstate: str | None = None,
        about: About | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.position = position
        self.sqlstate = sqlstate or self.default_sqlstate
        self.about = about


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to the client that is not an error. severity: DEBUG, LOG, INFO, NOTICE or WARNING."""

    message: str
    severity: str = "NOTICE"
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None
    position: int | None = None


class FatalError(SqlError):
    """An error after which the connection closes."""

    severity = "FATAL"


class ProtocolViolation(FatalError):
    default_sqlstate = "08P01"


class ConnectionFailure(SqlError):
    default_sqlstate = "08006"


class FeatureNotSupported(SqlError):
    default_sqlstate = "0A000"


class CachedPlanChanged(FeatureNotSupported):
    """A prepared statement's result type has changed. Drivers that prepare statements automatically recognise this
    error by its routine, and prepare again.
    """

    routine = "RevalidateCachedQuery"

    def __init__(self) -> None:
        super().__init__("cached plan must not change result type")


class CardinalityViolation(SqlError):
    default_sqlstate = "21000"


class DataException(SqlError):
    default_sqlstate = "22000"


class StringDataLengthMismatch(SqlError):
    default_sqlstate = "22026"


class InvalidXmlContent(SqlError):
    default_sqlstate = "2200N"


class StringDataRightTruncation(SqlError):
    default_sqlstate = "22001"


class NumericValueOutOfRange(SqlError):
    default_sqlstate = "22003"


class NullValueNotAllowed(SqlError):
    default_sqlstate = "22004"


class InvalidDatetimeFormat(SqlError):
    default_sqlstate = "22007"


class DatetimeFieldOverflow(SqlError):
    default_sqlstate = "22008"


class InvalidTimeZoneDisplacement(SqlError):
    default_sqlstate = "22009"


class DivisionByZero(SqlError):
    default_sqlstate = "22012"


class InvalidArgumentForLogarithm(SqlError):
    default_sqlstate = "2201E"


class InvalidArgumentForPower(SqlError):
    default_sqlstate = "2201F"


class InvalidRowCountInLimit(SqlError):
    default_sqlstate = "2201W"


class InvalidRowCountInOffset(SqlError):
    default_sqlstate = "2201X"


class InvalidRegularExpression(SqlError):
    default_sqlstate = "2201B"


class InvalidEscapeSequence(SqlError):
    default_sqlstate = "22025"


class InvalidParameterValue(SqlError):
    default_sqlstate = "22023"


class InvalidTextRepresentation(SqlError):
    default_sqlstate = "22P02"


class InvalidBinaryRepresentation(SqlError):
    default_sqlstate = "22P03"


class BadCopyFileFormat(SqlError):
    default_sqlstate = "22P04"


class UntranslatableCharacter(SqlError):
    default_sqlstate = "22P05"


class IntervalFieldOverflow(SqlError):
    default_sqlstate = "22015"


class SubstringError(SqlError):
    default_sqlstate = "22011"


class CharacterNotInRepertoire(SqlError):
    default_sqlstate = "22021"


class ArraySubscriptError(SqlError):
    default_sqlstate = "2202E"


class InvalidTablesampleArgument(SqlError):
    default_sqlstate = "2202H"


class InvalidArgumentForJsonDatetime(SqlError):
    default_sqlstate = "22031"


class InvalidJsonSubscript(SqlError):
    default_sqlstate = "22033"


class NonNumericJsonItem(SqlError):
    default_sqlstate = "22036"


class SingletonJsonItemRequired(SqlError):
    default_sqlstate = "22038"


class JsonArrayNotFound(SqlError):
    default_sqlstate = "22039"


class JsonMemberNotFound(SqlError):
    default_sqlstate = "2203A"


class JsonNumberNotFound(SqlError):
    default_sqlstate = "2203B"


class JsonObjectNotFound(SqlError):
    default_sqlstate = "2203C"


class NotNullViolation(SqlError):
    default_sqlstate = "23502"


class ForeignKeyViolation(SqlError):
    default_sqlstate = "23503"


class InvalidForeignKey(SqlError):
    default_sqlstate = "42830"


class UniqueViolation(SqlError):
    default_sqlstate = "23505"


class CheckViolation(SqlError):
    default_sqlstate = "23514"


class WithCheckOptionViolation(SqlError):
    default_sqlstate = "44000"


class SequenceGeneratorLimitExceeded(SqlError):
    default_sqlstate = "2200H"


class InvalidCursorState(SqlError):
    default_sqlstate = "24000"


class ActiveSqlTransaction(SqlError):
    default_sqlstate = "25001"


class ReadOnlySqlTransaction(SqlError):
    default_sqlstate = "25006"


class NoActiveSqlTransaction(SqlError):
    default_sqlstate = "25P01"


class InFailedSqlTransaction(SqlError):
    default_sqlstate = "25P02"


class IdleInTransactionSessionTimeout(FatalError):
    default_sqlstate = "25P03"


class InvalidSqlStatementName(SqlError):
    default_sqlstate = "26000"


class InvalidAuthorizationSpecification(FatalError):
    default_sqlstate = "28000"


class InvalidPassword(FatalError):
    default_sqlstate = "28P01"


class InvalidGrantOperation(SqlError):
    default_sqlstate = "0LP01"


class InvalidTransactionTermination(SqlError):
    default_sqlstate = "2D000"


class InvalidCursorName(SqlError):
    default_sqlstate = "34000"


class InvalidSavepointSpecification(SqlError):
    default_sqlstate = "3B001"


class InvalidCatalogName(FatalError):
    default_sqlstate = "3D000"


class InvalidSchemaName(SqlError):
    default_sqlstate = "3F000"


class SerializationFailure(SqlError):
    default_sqlstate = "40001"


class DeadlockDetected(SqlError):
    default_sqlstate = "40P01"


class LockNotAvailable(SqlError):
    default_sqlstate = "55P03"


class StatementCompletionUnknown(SqlError):
    default_sqlstate = "40003"


class SqlSyntaxError(SqlError):
    default_sqlstate = "42601"


class InsufficientPrivilege(SqlError):
    default_sqlstate = "42501"


class CannotCoerce(SqlError):
    default_sqlstate = "42846"


class GroupingError(SqlError):
    default_sqlstate = "42803"


class WindowingError(SqlError):
    default_sqlstate = "42P20"


class InvalidRecursion(SqlError):
    default_sqlstate = "42P19"


class DatatypeMismatch(SqlError):
    default_sqlstate = "42804"


class AssignedTypeMismatch(DatatypeMismatch):
    """A value has the wrong type for its column. Drivers distinguish this from other mismatches by the routine."""

    routine = "transformAssignedExpr"


class WrongObjectType(SqlError):
    default_sqlstate = "42809"


class IndeterminateCollation(SqlError):
    default_sqlstate = "42P22"


class GeneratedAlways(SqlError):
    default_sqlstate = "428C9"


class UndefinedColumn(SqlError):
    default_sqlstate = "42703"


class UndefinedFunction(SqlError):
    default_sqlstate = "42883"


class InvalidObjectDefinition(SqlError):
    default_sqlstate = "42P17"


class InvalidColumnDefinition(SqlError):
    default_sqlstate = "42611"


class UndefinedTable(SqlError):
    default_sqlstate = "42P01"


class UndefinedParameter(SqlError):
    default_sqlstate = "42P02"


class TooManyColumns(SqlError):
    default_sqlstate = "54011"


class TooManyArguments(SqlError):
    default_sqlstate = "54023"


class UndefinedObject(SqlError):
    default_sqlstate = "42704"


class DuplicateColumn(SqlError):
    default_sqlstate = "42701"


class DuplicateCursor(SqlError):
    default_sqlstate = "42P03"


class InvalidCursorDefinition(SqlError):
    default_sqlstate = "42P11"


class DuplicatePreparedStatement(SqlError):
    default_sqlstate = "42P05"


class DuplicateSchema(SqlError):
    default_sqlstate = "42P06"


class DuplicateTable(SqlError):
    default_sqlstate = "42P07"


class DuplicateAlias(SqlError):
    default_sqlstate = "42712"


class DuplicateObject(SqlError):
    default_sqlstate = "42710"


class AmbiguousColumn(SqlError):
    default_sqlstate = "42702"


class AmbiguousAlias(SqlError):
    default_sqlstate = "42P09"


class AmbiguousFunction(SqlError):
    default_sqlstate = "42725"


class AmbiguousParameter(SqlError):
    default_sqlstate = "42P08"


class ReservedName(SqlError):
    default_sqlstate = "42939"


class InvalidName(SqlError):
    default_sqlstate = "42602"


class InvalidColumnReference(SqlError):
    default_sqlstate = "42P10"


class InvalidTableDefinition(SqlError):
    default_sqlstate = "42P16"


class IndeterminateDatatype(SqlError):
    default_sqlstate = "42P18"


class InvalidForeignTableOption(SqlError):
    default_sqlstate = "HV00D"


class DependentObjectsStillExist(SqlError):
    default_sqlstate = "2BP01"


class InsufficientResources(SqlError):
    default_sqlstate = "53000"


class OutOfMemory(SqlError):
    default_sqlstate = "53200"


class DiskFull(SqlError):
    default_sqlstate = "53100"


class TooManyConnections(FatalError):
    default_sqlstate = "53300"


class ConfigurationLimitExceeded(SqlError):
    default_sqlstate = "53400"


class ProgramLimitExceeded(SqlError):
    default_sqlstate = "54000"


class StatementTooComplex(SqlError):
    default_sqlstate = "54001"


class ObjectNotInPrerequisiteState(SqlError):
    default_sqlstate = "55000"


class ObjectInUse(SqlError):
    default_sqlstate = "55006"


class CantChangeRuntimeParam(SqlError):
    default_sqlstate = "55P02"


class QueryCanceled(SqlError):
    default_sqlstate = "57014"


class AdminShutdown(FatalError):
    default_sqlstate = "57P01"


class CannotConnectNow(FatalError):
    default_sqlstate = "57P03"


class IdleSessionTimeout(FatalError):
    default_sqlstate = "57P05"


class IoError(SqlError):
    default_sqlstate = "58030"


class UndefinedFile(SqlError):
    default_sqlstate = "58P01"


class InternalError(SqlError):
    default_sqlstate = "XX000"


class DataCorrupted(SqlError):
    default_sqlstate = "XX001"

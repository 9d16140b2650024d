"""A session's settings: PostgreSQL's GUCs that Sluice honours or accepts, and its own under `sluice.`.

One row per setting in `SETTINGS`; a session's values are a layer of changes over the rows' defaults (or over what the
member's configuration says). SET is transactional as in PostgreSQL (guc.c): ROLLBACK undoes it, SET LOCAL lasts until the
end of the transaction, savepoints nest. Values are kept as SHOW prints them; typed readers parse them where they are used.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, Literal

from engine.settings import accepted
from engine.settings.numbers import BARE_SIZES, SIZE_UNITS, TIME_UNITS, HintedError, read_real, read_whole
from engine.settings.time_zone import zone_setting
from wire.dataclass import dataclass
from wire.errors import (
    CantChangeRuntimeParam,
    FeatureNotSupported,
    InsufficientPrivilege,
    InvalidName,
    InvalidParameterValue,
    UndefinedObject,
)
from wire.types.client_encodings import encoding_named
from wire.types.strings_input import NAME_BYTES_MAX

_TRUE: Final = ("on", "true", "yes", "1", "t", "y", "tr", "tru", "ye")
_FALSE: Final = ("off", "false", "no", "0", "f", "n", "fa", "fal", "fals", "of")

#: Names that a session may define (guc.c: valid_custom_variable_name).
#: Letters are matched by excluding the other characters, as in `engine.sql.parser.lexical.lexer`.
_CUSTOM: Final = re.compile(r"[^\0-@[-^`{-\x7f][\w$]*(\.[^\0-@[-^`{-\x7f][\w$]*)+")

_INTEGER_MAX: Final = 2_147_483_647

Kind = Literal["bool", "integer", "real", "string", "enum", "time", "size"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    - kind: how a value is read; `time` is in milliseconds and `size` in `unit` if no unit is given
    - values: for enum
    - minimum, maximum: for numbers, in the base unit
    - reported: sent to clients by ParameterStatus (GUC_REPORT)
    - fixed: cannot be changed
    - at_start: has the value that the member was started with
    - of_member: as at_start, for a setting that PostgreSQL reads again at a reload (PGC_SIGHUP)
    - at_connection: only a superuser may set it, and only when the connection begins (PGC_SU_BACKEND)
    - privileged: only a superuser may change it (PGC_SUSET), also for a role by ALTER ROLE ... SET
    - canonical: a further check of a string, which raises ValueError for an invalid one
    - completed: as canonical, for a string that may be incomplete, given the setting's previous value
    - only: the one value that it may be set to
    """

    name: str
    default: str
    kind: Kind = "string"
    description: str = ""
    values: tuple[str, ...] = ()
    minimum: float = 0
    maximum: float = 2_147_483_647
    reported: bool = False
    fixed: bool = False
    at_start: bool = False
    of_member: bool = False
    at_connection: bool = False
    privileged: bool = False
    canonical: Callable[[str], str] | None = field(default=None, compare=False)
    completed: Callable[[str, str], str] | None = field(default=None, compare=False)
    unit: str = "B"
    only: str | None = None

    def read(self, value: str, before: str | None = None) -> str:
        """Return `value` as SHOW prints it. Raises InvalidParameterValue, and FeatureNotSupported for a value other
        than `only`.
        """
        try:
            found = _READERS[self.kind](self, value)
            if self.completed is not None:
                found = self.completed(found, self.default if before is None else before)
        except HintedError as error:
            raise self._invalid(value, hint=str(error)) from None
        except ValueError as error:
            hint = f"Available values: {', '.join(self.values)}." if self.values else None
            raise self._invalid(value, detail=str(error) or None, hint=hint) from None
        if self.only is not None and found != self.only:
            raise FeatureNotSupported(f"not supported: {self.name} = {found}")
        return found

    def require_changeable(self, *, connecting: bool = False) -> None:
        """Raise CantChangeRuntimeParam if no session may change the setting. connecting: the session is being opened."""
        if self.at_connection and not connecting:
            raise CantChangeRuntimeParam(f'parameter "{self.name}" cannot be set after connection start')
        if self.of_member:
            raise CantChangeRuntimeParam(f'parameter "{self.name}" cannot be changed now')
        if self.at_start:
            raise CantChangeRuntimeParam(f'parameter "{self.name}" cannot be changed without restarting the server')
        if self.fixed:
            raise CantChangeRuntimeParam(f'parameter "{self.name}" cannot be changed')

    def _invalid(self, value: str, detail: str | None = None, hint: str | None = None) -> InvalidParameterValue:
        if self.kind == "bool":
            return InvalidParameterValue(f'parameter "{self.name}" requires a Boolean value')
        return InvalidParameterValue(f'invalid value for parameter "{self.name}": "{value}"', detail=detail, hint=hint)


def truth(value: str) -> bool | None:
    """Parse a Boolean, in full or abbreviated; None if it is not one (parse_bool)."""
    text = value.strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _read_bool(_setting: Setting, value: str) -> str:
    said = truth(value)
    if said is None:
        raise ValueError
    return "on" if said else "off"


def _in_range(setting: Setting, number: float, unit: str = "", size: float = 1) -> None:
    """Check the range of a number. unit: the unit of the numbers in the message; size: the size of that unit."""
    counted = setting.kind != "real" and setting.maximum / size <= _INTEGER_MAX
    if counted and not -_INTEGER_MAX - 1 <= number / size <= _INTEGER_MAX:
        raise HintedError("Value exceeds integer range.")
    if not setting.minimum <= number <= setting.maximum:
        shown = "g" if setting.kind == "real" else ".0f"
        said, lowest, highest = (f"{x / size:{shown}}" for x in (number, setting.minimum, setting.maximum))
        said = said.replace("inf", "Infinity")
        raise InvalidParameterValue(
            f'{said}{unit and f" {unit}"} is outside the valid range for parameter "{setting.name}" ({lowest} .. {highest})'
        )


def _read_integer(setting: Setting, value: str) -> str:
    number = read_whole(value)
    _in_range(setting, number)
    return str(number)


def _read_real(setting: Setting, value: str) -> str:
    number = read_real(value)
    _in_range(setting, number)
    return f"{number:g}"


def _read_string(setting: Setting, value: str) -> str:
    return setting.canonical(value) if setting.canonical else value


def _read_enum(setting: Setting, value: str) -> str:
    for allowed in setting.values:
        if allowed.lower() == value.strip().lower():
            return allowed
    raise ValueError


def _largest_unit(number: int, units: Mapping[str, float], names: tuple[str, ...]) -> str:
    if number == 0:
        return "0"
    for name in names:
        if number % units[name] == 0:
            return f"{int(number // units[name])}{name}"
    return str(number)


def _read_time(setting: Setting, value: str) -> str:
    number = read_whole(value, TIME_UNITS)
    _in_range(setting, number, "ms")
    return str(number) if number < 0 else _largest_unit(number, TIME_UNITS, ("d", "h", "min", "s", "ms"))


def _read_size(setting: Setting, value: str) -> str:
    unit = BARE_SIZES[setting.unit]
    number = read_whole(value, SIZE_UNITS, unit)
    _in_range(setting, number, setting.unit, unit)
    return str(number // unit) if number < 0 else _largest_unit(number, SIZE_UNITS, ("TB", "GB", "MB", "kB", "B"))


_READERS: Final[dict[Kind, Callable[[Setting, str], str]]] = {
    "bool": _read_bool,
    "integer": _read_integer,
    "real": _read_real,
    "string": _read_string,
    "enum": _read_enum,
    "time": _read_time,
    "size": _read_size,
}

_DATE_FORMATS: Final = {"iso": "ISO", "sql": "SQL", "postgres": "Postgres", "german": "German"}
_DATE_ORDERS: Final = {
    "mdy": "MDY", "us": "MDY", "noneuro": "MDY", "noneuropean": "MDY",
    "dmy": "DMY", "euro": "DMY", "european": "DMY", "ymd": "YMD",
}  # fmt: skip


def _date_style(value: str, before: str) -> str:
    """Read a DateStyle such as `ISO, MDY`: if one of the two parts is missing, it keeps its previous value (variable.c,
    check_datestyle).
    """
    style, order = None, None
    for part in (p.strip().lower() for p in value.split(",")):
        if part == "default":
            style, order = style or "ISO", order or "MDY"
        elif (named := _DATE_FORMATS.get("postgres" if part.startswith("postgres") else part)) is not None:
            if style not in (None, named):
                raise ValueError('Conflicting "datestyle" specifications.')
            style = named
        elif (named := _DATE_ORDERS.get(part)) is not None:
            if order not in (None, named):
                raise ValueError('Conflicting "datestyle" specifications.')
            order = named
        else:
            raise ValueError(f'Unrecognized key word: "{part}".')
    kept_style, kept_order = before.split(", ")
    if style == "German":
        kept_order = "DMY"
    return f"{style or kept_style}, {order or kept_order}"


def _encoding(value: str) -> str:
    try:
        return encoding_named(value)
    except KeyError:
        raise ValueError from None


def _printable_name(value: str) -> str:
    """Return a name as PostgreSQL reports it to clients: at most 63 bytes, with a question mark for each byte that is
    no printable character of ASCII (guc.c, GUC_IS_NAME; string.c, pg_clean_ascii).
    """
    short = value.encode("utf-8", "surrogatepass")[:NAME_BYTES_MAX].decode("utf-8", "ignore").encode()
    return "".join(chr(byte) if 32 <= byte <= 126 else "?" for byte in short)


#: The levels of the log's messages in rising order (guc.c, server_message_level_options): LOG is above ERROR there.
LOG_SEVERITIES: Final = (
    "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal", "panic",
)  # fmt: skip
_TRANSACTION_MODES: Final = ("transaction_isolation", "transaction_read_only", "transaction_deferrable")
_ISOLATION: Final = ("serializable", "repeatable read", "read committed", "read uncommitted")


def _s(name: str, default: str, kind: Kind = "string", description: str = "", **more: object) -> Setting:
    return Setting(name, default, kind, description, **more)  # type: ignore[arg-type]


def _accepted_settings() -> Iterator[Setting]:
    """Yield the settings that are accepted and have no effect."""
    for name, (kind, default, more) in accepted.ROWS.items():
        only = default if name in accepted.ONLY else None
        yield _s(name, default, kind, privileged=name in accepted.PRIVILEGED, only=only, **more)


#: Settings that neither SHOW ALL nor pg_settings lists (GUC_NO_SHOW_ALL).
NOT_LISTED: Final = frozenset(("default_with_oids", "is_superuser", "role", "session_authorization"))
#: Settings that RESET ALL does not change (GUC_NO_RESET_ALL).
_NOT_RESET: Final = frozenset(("role", "session_authorization"))

#: Every setting, in the order of SHOW ALL.
SETTINGS: Final[dict[str, Setting]] = {
    s.name.lower(): s
    for s in sorted(
        (
            _s(
                "application_name", "", description="Name that the client gives itself.", reported=True,
                canonical=_printable_name,
            ),
            _s("bytea_output", "hex", "enum", "Output format of bytea.", values=("escape", "hex")),
            _s("client_encoding", "UTF8", description="Character set of the client.", reported=True, canonical=_encoding),
            _s(
                "client_min_messages", "notice", "enum", "Least severe message sent to the client.",
                values=("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"),
            ),
            _s("DateStyle", "ISO, MDY", description="Format of dates and order of their fields.", reported=True,
               completed=_date_style),
            _s("default_transaction_isolation", "read committed", "enum", values=_ISOLATION),
            _s("default_transaction_read_only", "off", "bool", reported=True),
            _s("default_transaction_deferrable", "off", "bool"),
            _s("transaction_isolation", "read committed", "enum", values=_ISOLATION),
            _s("transaction_read_only", "off", "bool"),
            _s("transaction_deferrable", "off", "bool"),
            _s("extra_float_digits", "1", "integer", "Digits shown of floats; above 0: shortest exact.", minimum=-15,
               maximum=3),
            _s("idle_in_transaction_session_timeout", "0", "time", "Ends a session idle in a transaction for so long."),
            _s("idle_session_timeout", "0", "time", "Ends a session idle outside a transaction for so long."),
            _s("in_hot_standby", "off", "bool", reported=True, fixed=True),
            _s("integer_datetimes", "on", "bool", reported=True, fixed=True),
            _s("IntervalStyle", "postgres", "enum", "Output format of intervals.", reported=True,
               values=("postgres", "postgres_verbose", "sql_standard", "iso_8601")),
            _s("is_superuser", "off", "bool", reported=True, fixed=True),
            _s("lc_collate", "C", fixed=True),
            _s("lc_ctype", "C.UTF-8", fixed=True),
            _s("lc_messages", "C"),
            _s("lc_monetary", "C"),
            _s("lc_numeric", "C"),
            _s("lc_time", "C"),
            _s("lock_timeout", "0", "time"),
            _s("auto_explain.log_min_duration", "-1", "time", "Logs the plans of queries that take so long and longer; -1 is none.",
               minimum=-1, privileged=True),
            _s("auto_explain.log_analyze", "off", "bool", "Plans are logged as they were estimated.", only="off", privileged=True),
            _s("auto_explain.log_format", "text", "enum", "Format of the plans that are logged.",
               values=("text", "xml", "json", "yaml"), only="text", privileged=True),
            _s("auto_explain.log_verbose", "off", "bool", "Logs plans as EXPLAIN VERBOSE shows them.", privileged=True),
            _s("pg_stat_statements.max", "5000", "integer", "How many statements pg_stat_statements has at most.", minimum=100,
               maximum=1_073_741_823, at_start=True),
            _s("pg_stat_statements.track", "top", "enum", "Which statements pg_stat_statements counts.",
               values=("none", "top", "all"), privileged=True),
            _s("pg_stat_statements.track_planning", "off", "bool", "Planning is part of the time.", only="off", privileged=True),
            _s("pg_stat_statements.track_utility", "on", "bool", "Whether statements count that are no queries.",
               privileged=True),
            _s("log_connections", "off", "bool", at_connection=True, privileged=True),
            _s("log_destination", "stderr", "enum", values=("stderr", "jsonlog"), of_member=True),
            _s("log_disconnections", "off", "bool", at_connection=True, privileged=True),
            _s("log_duration", "off", "bool", privileged=True),
            _s("log_error_verbosity", "default", "enum", values=("terse", "default", "verbose"), privileged=True),
            _s("log_line_prefix", "%m [%p] %q%u@%d %h ", of_member=True),
            _s("log_min_duration_statement", "-1", "time", minimum=-1, privileged=True),
            _s("log_min_error_statement", "error", "enum", values=LOG_SEVERITIES, privileged=True),
            _s("log_min_messages", "warning", "enum", values=LOG_SEVERITIES, privileged=True),
            _s("log_statement", "none", "enum", values=("none", "ddl", "mod", "all"), privileged=True),
            _s("max_connections", "500", "integer", minimum=1, maximum=100_000, at_start=True),
            _s("max_identifier_length", "63", "integer", minimum=63, maximum=63, fixed=True),
            _s("block_size", "8192", "integer", minimum=8192, maximum=8192, fixed=True),
            _s("max_function_args", "100", "integer", minimum=100, maximum=100, fixed=True),
            _s("data_checksums", "off", "bool", fixed=True),
            _s("max_prepared_transactions", "0", "integer", maximum=262_143, at_start=True),
            _s("max_replication_slots", "0", "integer", maximum=262_143, at_start=True),
            _s("max_wal_senders", "0", "integer", maximum=262_143, at_start=True),
            _s("shared_preload_libraries", "", at_start=True),
            _s("track_commit_timestamp", "off", "bool", at_start=True),
            _s("wal_level", "minimal", "enum", values=("minimal", "replica", "logical"), at_start=True),
            _s("max_index_keys", "32", "integer", minimum=32, maximum=32, fixed=True),
            _s("password_encryption", "scram-sha-256", "enum", "What a role keeps of a password that it is given.",
               values=("md5", "scram-sha-256")),
            _s("role", "none", description="The role whose rights are used; none is the session's."),
            _s("row_security", "on", "bool"),
            _s("check_function_bodies", "on", "bool"),
            _s("default_statistics_target", "100", "integer", "How many common values and parts of a histogram ANALYZE keeps.",
               minimum=1, maximum=10_000),
            _s("default_tablespace", ""),
            _s("default_with_oids", "off", "bool", only="off"),
            _s("default_table_access_method", "heap"),
            _s("escape_string_warning", "on", "bool"),
            _s("backslash_quote", "safe_encoding", "enum", values=("safe_encoding", "on", "off")),
            _s("synchronous_commit", "on", "enum", values=("local", "remote_write", "remote_apply", "on", "off")),
            _s("search_path", '"$user", public', description="Schemas searched for unqualified names."),
            _s("server_encoding", "UTF8", reported=True, fixed=True),
            _s("server_version", "15.18 (Sluice 0.1.0)", reported=True, fixed=True),
            _s("server_version_num", "150018", "integer", minimum=150_018, maximum=150_018, fixed=True),
            _s("plan_cache_mode", "auto", "enum", "Whether queries with parameters are planned for their values.",
               values=("auto", "force_generic_plan", "force_custom_plan")),
            _s("session_authorization", "", reported=True),
            _s("session_replication_role", "origin", "enum", "Whether foreign keys are judged: not as a replica.",
               values=("origin", "replica", "local"), privileged=True),
            _s("standard_conforming_strings", "on", "bool", "Whether a backslash in a plain string is an ordinary character.",
               reported=True),
            _s("statement_timeout", "0", "time", "Cancels a statement that runs longer; 0 is never."),
            _s("TimeZone", "UTC", description="Time zone of timestamps with time zone.", reported=True,
               canonical=zone_setting),
            _s("work_mem", "4MB", "size", minimum=1 << 16, maximum=(2**31 - 1) << 10, unit="kB"),
            _s("default_text_search_config", "pg_catalog.english", only="pg_catalog.english"),
            *_accepted_settings(),
            _s("xmloption", "content", "enum", values=("content", "document")),
            _s("xmlbinary", "base64", "enum", values=("base64", "hex")),
            _s("cursor_buffer_size", "1MB", "size", "Bytes of rows that a portal reads ahead, and the size of a page.",
               minimum=1 << 10, maximum=1 << 30),
            _s("sluice.distribution", "auto", "enum", "Whether queries are distributed over the members.",
               values=("auto", "off", "always")),
            _s("sluice.engine", "auto", "enum", "Which engine runs fragments.", values=("auto", "spark", "local")),
            _s("sluice.fault_policy", "fail", "enum",
               "The reaction when a query over several members loses a member, or when its client is slow.",
               values=("fail", "retry", "local", "spool", "wait")),
            _s("sluice.lite_routing", "refuse", "enum",
               "On a lite member, refuses queries over tables or forwards the connection; read when a connection begins.",
               values=("refuse", "forward")),
            _s("sluice.local_limit", "16GB", "size",
               "A query that reads more column data than this never runs in process.", maximum=1 << 50),
            _s("sluice.memory_max", "0", "size",
               "Maximum memory of all statements of one user on a member's local engine; 0 means no limit.",
               maximum=1 << 50, privileged=True),
            _s("sluice.progress", "0", "real",
               "Seconds between notices that report a statement's progress; 0 sends none.", maximum=86_400),
            _s("sluice.result_cache", "on", "bool",
               "Answers a repeated statement with its kept result as long as nothing that it reads has changed."),
            _s("sluice.rows_max", "0", "integer",
               "Maximum number of rows that one statement may return; 0 means no limit.", maximum=(1 << 63) - 1,
               privileged=True),
            _s("sluice.spool_limit", "16GB", "size", "Maximum size of one query's spool files on a member.",
               maximum=1 << 50),
            _s("sluice.statements_max", "0", "integer",
               "Maximum number of statements that one user may run at once on a member; 0 means no limit.", privileged=True),
            _s("sluice.statement_timeout_max", "0", "time",
               "Cancels a statement that runs longer, whatever statement_timeout says; 0 means no limit.", privileged=True),
            _s("sluice.traceparent", "",
               description="The client's trace, as in W3C's traceparent; spans of statements become its children."),
            _s("sluice.vacuum_retention", "1h", "time",
               "VACUUM keeps files that were written, or removed from their table, more recently than this.",
               minimum=900_000, maximum=604_800_000),
        ),
        key=lambda s: s.name.lower(),
    )
}  # fmt: skip


def permission_denied(setting: Setting) -> InsufficientPrivilege:
    """Return the error for a role that may not change the setting."""
    return InsufficientPrivilege(f'permission denied to set parameter "{setting.name}"')


@functools.lru_cache(256)
def time_ms(value: str) -> int:
    """Return the milliseconds of a time setting's value."""
    return read_whole(value, TIME_UNITS)


@functools.lru_cache(256)
def size_bytes(value: str) -> int:
    """Return the bytes of a size setting's value."""
    return read_whole(value, SIZE_UNITS)


def size_text(number: int) -> str:
    """Return a number of bytes in a readable form: `63.2 MB`."""
    size, units = float(number), ["B", "kB", "MB", "GB", "TB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:.4g} {units[0]}"


@dataclass(slots=True)
class _Layer:
    session: dict[str, str]
    local: dict[str, str]

    def copy(self) -> _Layer:
        return _Layer(dict(self.session), dict(self.local))


class SessionSettings:
    """One session's settings (`engine.contracts.session_settings.Settings`).

    Arguments:
        defaults: values that differ from the rows' own: configuration, then the startup packet; RESET returns to them.
        on_report: called with (name, value) when the value of a reported setting changed.
    """

    def __init__(
        self, defaults: Mapping[str, str] | None = None, on_report: Callable[[str, str], None] | None = None
    ) -> None:
        self._defaults: dict[str, str] = {}
        self._custom: set[str] = set()
        self._checks: dict[str, Callable[[str], None]] = {}
        self._computed: dict[str, Callable[[], str]] = {}
        #: Returns whether the role that changes settings is a superuser.
        self.privileged: Callable[[], bool] = lambda: True
        self._now = _Layer({}, {})
        self._saved: list[_Layer] = []
        #: The values that were read, by name; a new dictionary after each change.
        self._found: dict[str, str] = {}
        self.on_report = on_report
        self.version = 0
        #: The version at which the transaction's modes were last seen to be the default ones.
        self._default_modes_at: int | None = None
        for name, value in (defaults or {}).items():
            setting = self._row(name, defining=True)
            self._defaults[setting.name.lower()] = setting.read(value, self.default(setting))

    def custom_names(self) -> Sequence[str]:
        """Return the names that the session has defined, in lower case and sorted."""
        return sorted(self._custom)

    def _row(self, name: str, *, defining: bool = False) -> Setting:
        key = name.lower()
        if row := SETTINGS.get(key):
            return row
        # Any two-part name may be defined by a session, as in PostgreSQL; ours are all known.
        if "." in key and not key.startswith("sluice.") and (defining or key in self._custom):
            if not _CUSTOM.fullmatch(name):
                raise InvalidName(
                    f'invalid configuration parameter name "{name}"',
                    detail="Custom parameter names must be two or more simple identifiers separated by dots.",
                )
            self._custom.add(key)
            return Setting(name, "")
        raise UndefinedObject(f'unrecognized configuration parameter "{name}"')

    def get(self, name: str) -> str:
        # A reader that a change on another thread overtakes writes into the old dictionary, which is not read any more.
        found = self._found
        if (value := found.get(name)) is not None:
            return value
        row = self._row(name)
        key = row.name.lower()
        if key in self._computed:
            return self._computed[key]()
        value = self._look_up(row, key)
        if name in (row.name, key):
            found[name] = value
        return value

    def _look_up(self, row: Setting, key: str) -> str:
        for values in (self._now.local, self._now.session, self._defaults):
            if key in values:
                return values[key]
        return row.default

    def canonical_name(self, name: str) -> str:
        """Return the name in the table's spelling: `TimeZone` for timezone. Raises UndefinedObject."""
        return self._row(name).name

    def time_ms(self, name: str) -> int:
        return time_ms(self.get(name))

    def size_bytes(self, name: str) -> int:
        return size_bytes(self.get(name))

    def changeable(self, name: str) -> bool:
        """Return whether the current role may change this setting."""
        return not self._row(name, defining=True).privileged or self.privileged()

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        row = self._row(name, defining=True)
        row.require_changeable()
        if not self.changeable(name):
            raise permission_denied(row)
        key = row.name.lower()
        if (check := self._checks.get(key)) is not None:
            check(self.default(row) if value is None else value)
        before = self.get(name)
        if local:
            self._now.local[key] = self.default(row) if value is None else row.read(value, before)
        elif value is None:
            self._now.session.pop(key, None)
            self._now.local.pop(key, None)
        else:
            self._now.session[key] = row.read(value, before)
            self._now.local.pop(key, None)
        self._note_change(row, before)

    def default(self, row: Setting) -> str:
        """Return the value that RESET restores."""
        return self._defaults.get(row.name.lower(), row.default)

    def _note_change(self, row: Setting, before: str) -> None:
        self.version += 1
        self._found = {}
        now = self.get(row.name)
        if row.reported and now != before and self.on_report:
            self.on_report(row.name, now)

    def reset_all(self) -> None:
        for key in [*self._now.session, *self._now.local]:
            if key not in _NOT_RESET:
                self.set(key, None)

    def check(self, name: str, check: Callable[[str], None]) -> None:
        """Register a check that is called with each new value of a setting, and raises an error for an invalid one."""
        self._checks[name] = check

    def compute(self, name: str, value: Callable[[], str]) -> None:
        """Make the value of a setting the result of `value`."""
        self._computed[name] = value
        self._found = {}

    def fix(self, name: str, value: str) -> None:
        """Give a fixed setting this session's value (`session_authorization`)."""
        self._defaults[name.lower()] = value
        self._found = {}

    def reported_settings(self) -> Mapping[str, str]:
        return {row.name: self.get(row.name) for row in SETTINGS.values() if row.reported}

    def all(self) -> list[tuple[str, str, str]]:
        """Return (name, value, description) of every setting, for SHOW ALL."""
        return [
            (row.name, self.get(row.name), row.description) for row in SETTINGS.values() if row.name not in NOT_LISTED
        ]

    def begin(self) -> None:
        """Begin a transaction with the session's default modes, which BEGIN and SET TRANSACTION may change."""
        self._saved = [self._now.copy()]
        if self._default_modes_at == self.version:
            return
        for mode in _TRANSACTION_MODES:
            default = self.get(f"default_{mode}")
            if default != self.get(mode):
                self.set(mode, default, local=True)
        self._default_modes_at = self.version

    def commit(self) -> None:
        self._saved = []
        if self._now.local:
            self._replace(_Layer(self._now.session, {}))

    def rollback(self) -> None:
        if self._saved:
            self._replace(self._saved[0])
            self._saved = []

    def savepoint(self) -> int:
        """Save the current values. The result is the token for `rollback_to` and `release`."""
        self._saved.append(self._now.copy())
        return len(self._saved) - 1

    def rollback_to(self, token: int) -> None:
        self._replace(self._saved[token].copy())
        del self._saved[token + 1 :]

    def release(self, token: int) -> None:
        del self._saved[token:]

    def _replace(self, layer: _Layer) -> None:
        if layer == self._now:
            # At the end of most transactions nothing has changed, so no cached facts are invalidated.
            self._now = layer
            return
        keys = {*self._now.session, *self._now.local, *layer.session, *layer.local}
        before = {key: self.get(key) for key in keys}
        self._now = layer
        self._found = {}
        for key, value in before.items():
            self._note_change(self._row(key), value)

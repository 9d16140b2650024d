"""The options of COPY: their values, and the combinations that are errors (copy.c: ProcessCopyOptions)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from engine.catalog.model.objects import FileFormat, TableColumn
from engine.sql.parser.nodes.copy import Copy, CopyFrom, CopyOption
from wire.copy.options import Header, Layout
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidColumnReference, InvalidParameterValue, SqlSyntaxError
from wire.types.client_encodings import encoding_named

Form = Literal["text", "csv", "binary", "parquet", "json"]
#: Formats that only files have, not clients.
FILE_FORMS: Final[tuple[FileFormat, ...]] = ("parquet", "json")
_KNOWN: Final = (
    "format", "freeze", "delimiter", "null", "header", "quote", "escape", "force_quote", "force_not_null", "force_null",
    "encoding",
)  # fmt: skip
#: Options of COPY TO only, which PostgreSQL does not have (`engine.statements.copy.partition`).
PARTITIONING: Final = ("partition", "query")
_LISTS: Final = ("force_quote", "force_not_null", "force_null")
_TRUE: Final = ("true", "on", "1")
_FALSE: Final = ("false", "off", "0")


@dataclass(frozen=True, slots=True)
class CopyFormat:
    """The format of a COPY. layout: of a text format. encoding: the statement's; None for the client's. freeze: whether
    the transaction must have created or emptied the table.
    """

    form: Form
    layout: Layout
    encoding: str | None
    freeze: bool = False


def read_options(statement: Copy) -> dict[str, CopyOption]:
    """Read the options by name. Raises SqlSyntaxError for one that is unknown or given twice."""
    found: dict[str, CopyOption] = {}
    for option in statement.options:
        if option.name not in _KNOWN and (isinstance(statement, CopyFrom) or option.name not in PARTITIONING):
            raise SqlSyntaxError(f'option "{option.name}" not recognized', position=option.position + 1)
        if option.name in found:
            raise SqlSyntaxError("conflicting or redundant options", position=option.position + 1)
        found[option.name] = option
    return found


def written_form(statement: Copy) -> Form:
    """Read only the format. Raises SqlError."""
    return _form(read_options(statement))


def copy_format(statement: Copy, columns: Sequence[str]) -> CopyFormat:
    """Read the format of the rows. columns: the names of the copied columns. Raises SqlError."""
    options = read_options(statement)
    form = _form(options)
    header = _header(options, isinstance(statement, CopyFrom))
    freeze = _true(options, "freeze")
    encoding = _encoding(options)
    if form in FILE_FORMS:
        _require_file(statement, form, options)
        return CopyFormat(form, Layout(), encoding, freeze)
    if form == "binary":
        for name in ("delimiter", "null"):
            if name in options:
                raise SqlSyntaxError(f"cannot specify {name.upper()} in BINARY mode")
        if header != "none":
            raise FeatureNotSupported("cannot specify HEADER in BINARY mode")
        return CopyFormat(form, Layout(), encoding, freeze)
    csv = form == "csv"
    delimiter = _text(options, "delimiter") or ("," if csv else "\t")
    null = _text(options, "null")
    null = null if null is not None else "" if csv else "\\N"
    quote = _text(options, "quote") or '"'
    escape = _text(options, "escape") or quote
    _check_layout(csv, delimiter, null, quote, escape, options)
    _check_lists(csv, options, isinstance(statement, CopyFrom))
    if csv and quote in null:
        raise FeatureNotSupported("CSV quote character must not appear in the NULL specification")
    layout = Layout(
        csv, delimiter.encode(), null.encode(), header, quote.encode(), escape.encode(),
        *(_columns(options, name, columns) for name in _LISTS),
    )  # fmt: skip
    return CopyFormat(form, layout, encoding, freeze)


def _require_file(statement: Copy, form: Form, options: dict[str, CopyOption]) -> None:
    if statement.file is None:
        raise FeatureNotSupported(f"not supported: COPY in {form} format from or to a client", hint="Name a file.")
    for name in options:
        if name not in ("format", "freeze"):
            raise FeatureNotSupported(f"COPY {name.replace('_', ' ')} is not available in {form} format")


def _check_layout(
    csv: bool, delimiter: str, null: str, quote: str, escape: str, options: dict[str, CopyOption]
) -> None:
    """Check the options of a text format in the order of ProcessCopyOptions."""
    if len(delimiter.encode()) != 1:
        raise FeatureNotSupported("COPY delimiter must be a single one-byte character")
    if delimiter in "\r\n":
        raise InvalidParameterValue("COPY delimiter cannot be newline or carriage return")
    if "\r" in null or "\n" in null:
        raise InvalidParameterValue("COPY null representation cannot use newline or carriage return")
    if not csv and delimiter in "\\.abcdefghijklmnopqrstuvwxyz0123456789":
        raise InvalidParameterValue(f'COPY delimiter cannot be "{delimiter}"')
    if not csv and "quote" in options:
        raise FeatureNotSupported("COPY quote available only in CSV mode")
    if csv and len(quote.encode()) != 1:
        raise FeatureNotSupported("COPY quote must be a single one-byte character")
    if csv and delimiter == quote:
        raise InvalidParameterValue("COPY delimiter and quote must be different")
    if not csv and "escape" in options:
        raise FeatureNotSupported("COPY escape available only in CSV mode")
    if csv and len(escape.encode()) != 1:
        raise FeatureNotSupported("COPY escape must be a single one-byte character")
    if delimiter in null:
        raise FeatureNotSupported("COPY delimiter must not appear in the NULL specification")


def _check_lists(csv: bool, options: dict[str, CopyOption], is_from: bool) -> None:
    for name, words, wants_from in (
        ("force_quote", "force quote", False),
        ("force_not_null", "force not null", True),
        ("force_null", "force null", True),
    ):
        if name in options:
            if not csv:
                raise FeatureNotSupported(f"COPY {words} available only in CSV mode")
            if is_from is not wants_from:
                direction = "COPY FROM" if wants_from else "COPY TO"
                raise FeatureNotSupported(f"COPY {words} only available using {direction}")


def _form(options: dict[str, CopyOption]) -> Form:
    option = options.get("format")
    match _text(options, "format"):
        case None | "text":
            return "text"
        case "csv":
            return "csv"
        case "binary" | "parquet" | "json" as form:
            return form
        case other:
            assert option is not None
            raise InvalidParameterValue(f'COPY format "{other}" not recognized', position=option.position + 1)


def _header(options: dict[str, CopyOption], is_from: bool) -> Header:
    option = options.get("header")
    if option is None:
        return "none"
    if isinstance(option.value, str) and option.value.lower() == "match":
        if not is_from:
            raise FeatureNotSupported(f'cannot use "{option.value}" with HEADER in COPY TO')
        return "match"
    truth = _truth(option)
    if truth is None:
        raise SqlSyntaxError('header requires a Boolean value or "match"')
    return "present" if truth else "none"


def _truth(option: CopyOption) -> bool | None:
    if option.value is None:
        return True
    text = option.value.lower() if isinstance(option.value, str) else ""
    return True if text in _TRUE else False if text in _FALSE else None


def _true(options: dict[str, CopyOption], name: str) -> bool:
    option = options.get(name)
    truth = False if option is None else _truth(option)
    if truth is None:
        raise SqlSyntaxError(f"{name} requires a Boolean value")
    return truth


def _text(options: dict[str, CopyOption], name: str) -> str | None:
    option = options.get(name)
    if option is None:
        return None
    if not isinstance(option.value, str):
        raise SqlSyntaxError(f"{name} requires a parameter")
    return option.value


def _encoding(options: dict[str, CopyOption]) -> str | None:
    text = _text(options, "encoding")
    if text is None:
        return None
    try:
        return encoding_named(text)
    except KeyError:
        at = options["encoding"].position + 1
        raise InvalidParameterValue(
            'argument to option "encoding" must be a valid encoding name', position=at
        ) from None


def _columns(options: dict[str, CopyOption], name: str, columns: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the columns that an option's list names."""
    option = options.get(name)
    if option is None:
        return frozenset()
    if option.value == "*" and name == "force_quote":
        return frozenset(range(len(columns)))
    if not isinstance(option.value, tuple):
        raise InvalidParameterValue(
            f'argument to option "{name}" must be a list of column names', position=option.position + 1
        )
    for column in option.value:
        if column not in columns:
            raise InvalidColumnReference(f'{name.upper()} column "{column}" not referenced by COPY')
    return frozenset(columns.index(column) for column in option.value)


def names_of(columns: Sequence[TableColumn]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)

"""The files of a foreign table as a table function of the local engine.

The files are those that the catalog resolved, named one by one. In a physical plan they are the value of a parameter
that each instance of the fragment receives. Whatever DuckDB would detect or add by itself (globs, Hive partitions,
types) is switched off or specified. The dialect of a CSV file follows the table's options, and otherwise is as
detected.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from engine.catalog.model.file_options import CsvDialect
from engine.catalog.model.objects import Table, TableColumn
from engine.catalog.model.partitions import NULL
from engine.common.sql_type import SqlType
from engine.lakes.file_columns import common
from engine.plan_ir.logical import FILE, ROW
from engine.planner.codegen.nested_values import as_jsonb, type_in_files
from engine.planner.optimizer.footers import UnknownFooterError
from engine.planner.optimizer.input_size import groups_to_read
from engine.sql.trees.build import call, case, cast, conjunction, integer, label, name, string, table_alias
from engine.sql.trees.storage_types import storage_name, storage_type
from engine.sql.trees.unsupported import Unsupported
from wire.dataclass import dataclass
from wire.types import pg_types as t

_GLOB: Final = str.maketrans({"*": "[*]", "?": "[?]", "[": "[[]"})
_WILD: Final = re.compile(r"[*?[]")
_ESCAPED: Final = re.compile(r"\[([*?[])\]")
#: file_fdw's option names and DuckDB's.
_CSV_OPTIONS: Final = {"delimiter": "delim", "quote": "quote", "escape": "escape", "null": "nullstr"}
_TRUE: Final = ("true", "on", "1", "yes")
#: DuckDB interprets the text of these types in a CSV file differently from PostgreSQL.
_NOT_IN_CSV: Final = (t.BYTEA, t.INTERVAL, t.TIMETZ, t.RECORD)
#: The functions that parse the text of a document.
_READ_BY: Final = {t.JSONB: "SLUICE_JSONB", t.JSON: "SLUICE_JSON"}
#: DuckDB's column that counts the rows of a Parquet file.
ROW_NUMBER: Final = "file_row_number"
#: The name of the column with a row's file; underscores are added if the table has a column of that name.
_FILE_NAME: Final = "sluice_file"
#: The name of the relation with the rows before deletion vectors are applied.
_READ: Final = "rows_read"
_BITS: Final = exp.DataType.build("BIT", dialect="duckdb")
#: The name of that column if partition values are computed from it, which is cheap only as long as it is constant in a file.
FOLDERS_NAME: Final = "sluice_folders"


@dataclass(frozen=True, slots=True)
class Splits:
    """A reader of an instance's splits: it reads the files in parameter `$r<reader>` and, if ranged, of each file the
    rows from `$r<reader>_first` to before `$r<reader>_end`.
    """

    reader: int
    ranged: bool


def file_reader(
    table: Table, names: Sequence[str], alias: str, splits: Splits | None = None
) -> tuple[exp.Expression, list[exp.Expression]]:
    """Return a FROM item `alias` for the table's files, or for those of an instance, and its columns of these names."""
    lowered = [c.name.lower() for c in table.columns]
    folders = [n for n in names if n in table.partition_by]
    if len(set(lowered)) < len(lowered):
        raise Unsupported("local", f'table "{table.name}" whose columns differ only in case')
    reader = _READERS[table.format](table, _paths(table) if splits is None else _parameter(f"r{splits.reader}"))
    if (splits is not None and splits.ranged) or ROW in names or table.deleted:
        if ROW_NUMBER in lowered:
            raise Unsupported("local", f'numbers of rows in files with a column "{ROW_NUMBER}"')
        reader.append("expressions", _option(ROW_NUMBER, exp.true()))
    file_name = FOLDERS_NAME if folders else _FILE_NAME
    while file_name in lowered:
        file_name += "_"
    if FILE in names or folders or table.deleted:
        reader.append("expressions", _option("filename", string(file_name)))
    if table.storage is not None and any(_has_rows(c.type.pg) for c in table.columns if c.name in names):
        # Files written before an attribute was added lack it, and DuckDB would take the first file's fields for those
        # of all.
        reader.append("expressions", _option("union_by_name", exp.true()))
    location = {FILE: label(file_name), ROW: label(ROW_NUMBER)}
    trees: list[exp.Expression] = [exp.Column(this=location.get(n) or name(n), table=label(alias)) for n in names]
    file = exp.Column(this=label(file_name), table=label(alias))
    trees = [_folder_value(table, file, n) if n in folders else tree for n, tree in zip(names, trees, strict=True)]
    if table.lake:
        source, trees = _of_lake(table, names, reader, _READ if table.deleted else alias, trees)
        return _without_deleted(table, source, file_name, alias) if table.deleted else source, trees
    if table.storage is None:
        columns = {c.name: c for c in table.columns if c.name in names}
        trees = [_as_json(columns.get(n), tree, table) for n, tree in zip(names, trees, strict=True)]
        types = {n: type_in_files(c.nested) for n, c in columns.items() if c.nested is not None}
        if table.by_name is not None:
            types = {n: exp.DataType.build("TEXT") for n in columns if n not in table.partition_by}
        inside = [c for n, c in columns.items() if n not in table.partition_by]
        if not types and table.format == "parquet" and _lacks_some(table, inside):
            reader.append("expressions", _option("schema", _schema(inside)))
        return _with_types(reader, types, alias), trees
    return exp.Table(this=reader, alias=table_alias(alias)), trees


def _with_types(reader: exp.Anonymous, types: Mapping[str, exp.DataType], alias: str) -> exp.Expression:
    """Return the reader with these columns of these types, whichever file lacks one of them or a field inside it.
    DuckDB takes the first file's columns and fields for those of all files, unless it is told to look at each.
    """
    if not types:
        return exp.Table(this=reader, alias=table_alias(alias))
    reader.append("expressions", _option("union_by_name", exp.true()))
    nulls = [exp.Alias(this=cast(exp.Null(), typ), alias=name(n)) for n, typ in types.items()]
    everything = exp.select("*").from_(exp.Table(this=reader))
    nothing = exp.Select(expressions=nulls, where=exp.Where(this=exp.false()))
    # Perhaps no file has the column; the other side of the union, which gives no row, provides its type.
    union = exp.Union(this=everything, expression=nothing, distinct=False, by_name=True)
    return exp.Subquery(this=union, alias=table_alias(alias))


def _lacks_some(table: Table, columns: Iterable[TableColumn]) -> bool:
    """Return whether one of the table's files has rows and may lack one of these columns. May block. A file that cannot
    be read here is taken to have all of them: DuckDB reports the error.
    """
    names = {column.name for column in columns}
    try:
        firsts = (groups_to_read(file, table, None)[:1] for file in table.files)
        return any(not names <= group.columns.keys() for first in firsts for group in first)
    except UnknownFooterError:
        return True
    except OSError:
        return False


def _schema(columns: Iterable[TableColumn]) -> exp.Expression:
    """Return the names and types of columns as DuckDB's `schema` option, by which they are null in files that lack
    them.
    """
    fields = {c.name: {"name": string(c.name), "type": string(storage_name(c.type, "local"))} for c in columns}
    described = {n: exp.Struct(expressions=_pairs({**told, "default_value": exp.null()})) for n, told in fields.items()}
    return exp.ToMap(this=exp.Struct(expressions=_pairs(described)))


def _pairs(values: Mapping[str, exp.Expression]) -> list[exp.Expression]:
    return [exp.PropertyEQ(this=string(key), expression=value) for key, value in values.items()]


def _as_json(column: TableColumn | None, tree: exp.Expression, table: Table, *, old: bool = False) -> exp.Expression:
    """Convert a json or jsonb column of foreign files, whose text need not be in jsonb's normal form, nor valid JSON.
    column: None for a column that gives a row's position. old: as in `as_jsonb`.
    """
    if column is None:
        return tree
    if column.nested is not None:
        return as_jsonb(tree, column.nested, old_instants=old)
    reads = None if table.format == "json" and column.type.pg is t.JSON else _READ_BY.get(column.type.pg)
    return tree if reads is None else call(reads, cast(tree, storage_type(column.type, "local")))


def _has_rows(pg: t.PgType) -> bool:
    return pg.is_row or (pg.is_array and t.element_of(pg).is_row)


def _folder_value(table: Table, file: exp.Expression, key: str) -> exp.Expression:
    """Return a key's value in a file's folders, as text. DuckDB computes it once a file, and opens no file that a
    filter on it excludes.
    """
    found = call("REGEXP_EXTRACT", file.copy(), string(f"(?s)^.*/{re.escape(key)}=([^/]*)/"), exp.Literal.number(1))
    value = call("NULLIF", call("URL_DECODE", found), string(NULL))
    return call("NULLIF", value, string("")) if table.lake else value


def _of_lake(
    table: Table, names: Sequence[str], reader: exp.Anonymous, alias: str, trees: Sequence[exp.Expression]
) -> tuple[exp.Expression, list[exp.Expression]]:
    """Return the FROM item and the columns of a lake's files, which may differ in their columns, and in how they write
    instants.
    """
    inside = {c.name: c for c in table.columns if c.name in names and c.name not in table.partition_by}
    files = common(table.files, tuple(inside))
    instants = {n for n, column in inside.items() if _has_instants(column)}
    if mixed := files.mixed_instants & instants:
        raise Unsupported("local", f'instants in both of Parquet\'s ways in column "{min(mixed)}" of "{table.name}"')
    old = files.old_instants & instants
    found = [_instant(inside[n], tree) if n in old else tree for n, tree in zip(names, trees, strict=True)]
    found = [_as_json(inside.get(n), tree, table, old=n in old) for n, tree in zip(names, found, strict=True)]
    wanted = {n: column for n, column in inside.items() if n in files.lacking or column.nested is not None}
    types = {n: _type_in_file(column, old=n in old) for n, column in wanted.items()}
    return _with_types(reader, types, alias), found


def _without_deleted(table: Table, source: exp.Expression, file_name: str, alias: str) -> exp.Expression:
    """Return the rows of `source`, which is called `_READ`, without those that the table's deletion vectors delete."""
    files = frozenset(table.files)
    rows = [
        exp.Tuple(expressions=[string(file), cast(call("FROM_BASE64", string(base64.b64encode(bits).decode())), _BITS)])
        for file, bits in table.deleted
        if file in files
    ]
    if not rows:
        return exp.Subquery(this=exp.select("*").from_(source), alias=table_alias(alias))
    vectors = exp.Values(expressions=rows, alias=table_alias("vectors", ["file", "bits"]))
    bits, number = (exp.Column(this=label(n), table=label(of)) for n, of in (("bits", "vectors"), (ROW_NUMBER, _READ)))
    # A row after the last bit is not deleted, nor is a row of a file without a vector.
    is_within = exp.LT(this=number, expression=call("BIT_LENGTH", bits))
    bit = call("GET_BIT", bits.copy(), cast(number.copy(), exp.DataType.build("INT")))
    kept = case([(is_within, exp.EQ(this=bit, expression=integer(0)))], exp.true())
    same = exp.EQ(
        this=exp.Column(this=label(file_name), table=label(_READ)),
        expression=exp.Column(this=label("file"), table=label("vectors")),
    )
    everything = exp.Column(this=exp.Star(), table=label(_READ))
    present = exp.select(everything).from_(source).join(vectors, on=same, join_type="left").where(kept)
    return exp.Subquery(this=present, alias=table_alias(alias))


def _has_instants(column: TableColumn) -> bool:
    values = (column.type,) if column.nested is None else column.nested.values()
    return any(typ.pg is t.TIMESTAMPTZ for typ in values)


def _type_in_file(column: TableColumn, *, old: bool) -> exp.DataType:
    if column.nested is not None:
        return type_in_files(column.nested, old_instants=old)
    return exp.DataType.build("TIMESTAMP", dialect="duckdb") if old else storage_type(column.type, "local")


def _instant(column: TableColumn, tree: exp.Expression) -> exp.Expression:
    """Convert a timestamp in UTC, as which DuckDB reads INT96, to an instant; nested values stay as they are."""
    return tree if column.nested is not None else call("TIMEZONE", string("UTC"), tree)


def in_range(splits: Splits, alias: str) -> exp.Expression:
    """Return the condition that a row of a ranged reader lies in its instance's range; DuckDB skips the row groups
    outside of it.
    """
    number = exp.Column(this=label(ROW_NUMBER), table=label(alias))
    first, end = (_parameter(f"r{splits.reader}_{limit}") for limit in ("first", "end"))
    return conjunction([exp.GTE(this=number, expression=first), exp.LT(this=number.copy(), expression=end)])


def in_keys(reader: int, key: exp.Expression, storage: exp.DataType) -> exp.Expression:
    """Return the condition that a key lies in its instance's range, from `$r<reader>_low` to before `$r<reader>_high`;
    null is no limit. DuckDB skips the row groups outside of it.
    """
    low, high = (_parameter(f"r{reader}_{limit}") for limit in ("low", "high"))
    least = exp.GTE(this=key, expression=exp.Cast(this=low.copy(), to=storage))
    most = exp.LT(this=key.copy(), expression=exp.Cast(this=high.copy(), to=storage.copy()))
    either = [(exp.Is(this=low, expression=exp.null()), least), (exp.Is(this=high, expression=exp.null()), most)]
    return conjunction([exp.Paren(this=exp.Or(this=none, expression=test)) for none, test in either])


def literal_path(path: str) -> str:
    """Escape a path such that DuckDB takes it for that one file, whatever characters it has."""
    # A plan may name a hundred thousand files, and hardly any of them has such a character.
    return path.translate(_GLOB) if _WILD.search(path) else path


def plain_path(path: str) -> str:
    """Return the path that `literal_path` was given."""
    return _ESCAPED.sub(r"\1", path)


def _parameter(text: str) -> exp.Expression:
    return exp.Placeholder(this=text)


def _paths(table: Table) -> exp.Expression:
    return exp.Array(expressions=[string(literal_path(path)) for path in table.files])


def _option(key: str, value: exp.Expression) -> exp.Expression:
    return exp.EQ(this=exp.Column(this=label(key)), expression=value)


def _no_partitions() -> exp.Expression:
    return _option("hive_partitioning", exp.false())


def _parquet(_table: Table, paths: exp.Expression) -> exp.Anonymous:
    # DuckDB skips row groups by their least and greatest values, which leave NaN out, unless the option says that there
    # may be NaN.
    return call("READ_PARQUET", paths, _no_partitions(), _option("can_have_nan", exp.true()))


def _csv(table: Table, paths: exp.Expression) -> exp.Anonymous:
    if table.by_name is not None:
        return _csv_by_name(table, paths, table.by_name)
    options = [_option("columns", _columns(table, _csv_type)), _no_partitions()]
    if "header" in table.options:
        options.append(_option("header", exp.Boolean(this=table.options["header"].lower() in _TRUE)))
    for ours, theirs in _CSV_OPTIONS.items():
        if ours in table.options:
            options.append(_option(theirs, string(table.options[ours])))
    options.append(_option("allow_quoted_nulls", exp.false()))
    return call("READ_CSV", paths, *options)


def _csv_by_name(table: Table, paths: exp.Expression, dialect: CsvDialect) -> exp.Anonymous:
    """Return a CSV reader that gives all columns as text: a type can be named only of a column that one of the files
    has, and these columns differ by instance.
    """
    _columns(table, _csv_type)  # Raises Unsupported for what no CSV file has.
    characters = {"delim": dialect.delimiter, "quote": dialect.quote, "escape": dialect.escape}
    if "null" in table.options:
        characters["nullstr"] = table.options["null"]
    options = [_option(option, string(character)) for option, character in characters.items()]
    flags = {"header": exp.true(), "all_varchar": exp.true(), "allow_quoted_nulls": exp.false()}
    options += (_option(option, flag) for option, flag in flags.items())
    return call("READ_CSV", paths, *options, _no_partitions())


def _json(table: Table, paths: exp.Expression) -> exp.Anonymous:
    return call("READ_JSON", paths, _option("columns", _columns(table, _json_type)), _no_partitions())


def _columns(table: Table, type_name: Callable[[Table, TableColumn], str]) -> exp.Expression:
    inside = (c for c in table.columns if c.name not in table.partition_by)
    return exp.Struct(expressions=_pairs({c.name: string(type_name(table, c)) for c in inside}))


def _csv_type(table: Table, column: TableColumn) -> str:
    if column.type.pg in _NOT_IN_CSV or column.type.pg.is_array:
        raise Unsupported("local", f'column "{column.name}" of type {column.type} in csv files of "{table.name}"')
    return _text_type(column.type)


def _json_type(table: Table, column: TableColumn) -> str:
    if column.type.pg in _NOT_IN_CSV:
        raise Unsupported("local", f'column "{column.name}" of type {column.type} in json files of "{table.name}"')
    return "JSON" if column.type.pg in (t.JSON, t.JSONB) else _text_type(column.type)


def _text_type(typ: SqlType) -> str:
    """Return the type as which the reader parses a value. A timestamp without an offset is in the session's time zone,
    which a cast applies.
    """
    return "VARCHAR" if typ.pg is t.TIMESTAMPTZ else storage_name(typ, "local")


_READERS: Final = {"parquet": _parquet, "csv": _csv, "json": _json}

"""Structs, maps and lists of files as jsonb, in DuckDB's SQL: the text that PostgreSQL's to_jsonb makes of such a
value.

A jsonb is kept in its normal form: keys sorted by their length in bytes, then by their bytes, and numbers as numerics.
The order of a struct's fields is known when the statement is compiled; a map's entries are sorted for each row. Floats
whose text has an exponent are rare, and go to the function that parses any document.

On Spark, tasks read these values through DuckDB (`engine.planner.codegen.scans`), so both engines use the same SQL.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.catalog.model.file_types import FileType
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Column, ColumnRef
from engine.sql.functions.textual import typed_as_text
from engine.sql.functions.trees import bound, concat, raises, sql
from engine.sql.functions.trees import text as literal
from engine.sql.trees.storage_types import storage_name
from wire.types import pg_types as t

_FLOATS: Final = (t.FLOAT4, t.FLOAT8)
#: The separators of jsonb's text.
_COMMA: Final = ", "
_COLON: Final = ": "


def type_in_files(typ: FileType, *, old_instants: bool = False) -> exp.DataType:
    """Return DuckDB's type for the values in files. old_instants: files hold instants in Parquet's old form, which
    DuckDB reads as UTC.
    """
    return exp.DataType.build(_name(typ, old_instants), dialect="duckdb")


def _name(typ: FileType, old: bool) -> str:
    match typ.kind:
        case "value":
            return "TIMESTAMP" if old and typ.type.pg is t.TIMESTAMPTZ else storage_name(typ.type, "local")
        case "list":
            return f"{_name(typ.parts[0], old)}[]"
        case "map":
            key, value = typ.parts
            return f"MAP({_name(key, old)}, {_name(value, old)})"
        case "struct":
            fields = zip(typ.stored, typ.parts, strict=True)
            return f"STRUCT({', '.join(f'{_quote(name)} {_name(part, old)}' for name, part in fields)})"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_jsonb(column: exp.Expression, typ: FileType, *, old_instants: bool = False) -> exp.Expression:
    """Convert a column of files to jsonb's text; null stays null."""
    # A file may lack fields that others have, or have them in another order: DuckDB casts structs by the names of
    # fields.
    whole = exp.Cast(this=column, to=type_in_files(typ, old_instants=old_instants))
    return _Writer(old_instants).convert(whole, typ, 0)


class _Writer:
    def __init__(self, old_instants: bool) -> None:
        self._old = old_instants

    def convert(self, tree: exp.Expression, typ: FileType, depth: int) -> exp.Expression:
        """Convert a value to jsonb's text. depth: the number of enclosing lambdas, each of which needs a parameter name
        of its own.
        """
        match typ.kind:
            case "value":
                return self._value(tree, typ.type)
            case "list":
                return self._list(tree, typ.parts[0], depth)
            case "map":
                return self._map(tree, typ.parts[0], typ.parts[1], depth)
            case "struct":
                return self._struct(tree, typ, depth)

    def _item(self, tree: exp.Expression, typ: FileType, depth: int) -> exp.Expression:
        return sql("local", "coalesce($1, 'null')", self.convert(tree, typ, depth))

    def _value(self, tree: exp.Expression, typ: SqlType) -> exp.Expression:
        if self._old and typ.pg is t.TIMESTAMPTZ:
            tree = sql("local", "timezone('UTC', $1)", tree)
        if typ.pg is t.TEXT:
            tree = _without_zero(tree)
        from engine.sql.functions import jsons  # which is made of casts, and these of this package's types

        made = jsons.as_json_or_null("local", tree, typ, _of_type(typ))
        if typ.pg not in _FLOATS:
            return made
        return bound("local", "shown__", made, _normal_number)

    def _list(self, tree: exp.Expression, element: FileType, depth: int) -> exp.Expression:
        name = f"item{depth}__"
        one = self._item(exp.column(name), element, depth + 1)
        joined = sql("local", f"array_to_string(list_transform($1, lambda {name}: $2), $3)", tree, one, literal(_COMMA))
        return _unless_null(tree, concat("local", [literal("["), joined, literal("]")]))

    def _struct(self, tree: exp.Expression, typ: FileType, depth: int) -> exp.Expression:
        fields = sorted(zip(typ.names, typ.stored, typ.parts, strict=True), key=lambda field: _rank(field[0]))
        pieces: list[exp.Expression] = []
        from engine.sql.functions import jsons

        for number, (name, stored, part) in enumerate(fields):
            value = sql("local", "struct_extract($1, $2)", tree, literal(stored))
            key = jsons.quote_json("local", literal(name))
            pieces += [literal(_COMMA if number else "{"), key, literal(_COLON), self._item(value, part, depth)]
        return _unless_null(tree, concat("local", [*pieces, literal("}")]))

    def _map(self, tree: exp.Expression, key: FileType, value: FileType, depth: int) -> exp.Expression:
        entry = f"item{depth}__"
        text = self._key(sql("local", f"{entry}.key"), key.type)
        one = self._item(sql("local", f"{entry}.value"), value, depth + 1)
        packed = sql("local", "struct_pack(l := strlen($1), k := $1, v := $2)", text, one)
        entries = sql("local", f"list_sort(list_transform(map_entries($1), lambda {entry}: $2))", tree, packed)
        from engine.sql.functions import jsons

        name = jsons.quote_json("local", sql("local", f"{entry}.k"))
        shown = concat("local", [name, literal(_COLON), sql("local", f"{entry}.v")])
        joined = sql(
            "local", f"array_to_string(list_transform($1, lambda {entry}: $2), $3)", entries, shown, literal(_COMMA)
        )
        whole = concat("local", [literal("{"), joined, literal("}")])
        # Files may have a key twice, which jsonb does not allow.
        twice = raises("local", "22030", "duplicate JSON object key value")
        checked = "CASE WHEN len(list_distinct(map_keys($1))) < len(map_keys($1)) THEN $2 ELSE $3 END"
        return _unless_null(tree, sql("local", checked, tree, twice, whole))

    def _key(self, tree: exp.Expression, typ: SqlType) -> exp.Expression:
        if self._old and typ.pg is t.TIMESTAMPTZ:
            tree = sql("local", "timezone('UTC', $1)", tree)
        if typ.pg is t.TEXT:
            tree = _without_zero(tree)
        from engine.sql.functions import jsons

        return jsons.key_text("local", typed_as_text("local", tree, typ, _of_type(typ), "key"), typ)


def _without_zero(text: exp.Expression) -> exp.Expression:
    """Raise an error for a text with a zero byte: files may have such texts, PostgreSQL's documents may not."""
    wrong = raises("local", "22P05", "unsupported Unicode escape sequence")
    return sql("local", "CASE WHEN contains($1, chr(0)) THEN $2 ELSE $1 END", text, wrong)


def _normal_number(shown: exp.Expression) -> exp.Expression:
    return sql("local", "CASE WHEN contains($1, 'e') OR $1 = '-0' THEN sluice_jsonb($1) ELSE $1 END", shown)


def _unless_null(tree: exp.Expression, made: exp.Expression) -> exp.Expression:
    return sql("local", "CASE WHEN $1 IS NOT NULL THEN $2 END", tree, made)


def _rank(name: str) -> tuple[int, bytes]:
    """Return the rank that jsonb gives to a key among others."""
    encoded = name.encode()
    return len(encoded), encoded


def _of_type(typ: SqlType) -> ColumnRef:
    return ColumnRef(typ, Column(-1, "value", typ))

"""Literals and parameters of the object types by name: `'lineitem'::regclass`, `'numeric(10,2)'::regtype`.

Such a name is resolved while binding, in the statement's catalog and search path. Numbers and columns are not read
here: a number is its own OID (`wire.types.input`).

Source: PostgreSQL 15, chapter 8.19; regproc.c (regclassin, regtypein, regprocin, regprocedurein, regoperin,
regoperatorin,
regnamespacein, regrolein, regcollationin, regconfigin, regdictionaryin).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.common.sql_type import SqlType
from engine.pg_catalog.builtin import functions_named
from engine.pg_catalog.builtin import rows as builtin_rows
from engine.sql.binder.scope import BindContext
from engine.sql.binder.type_names import UserTypes, domain_named, resolve_type
from engine.sql.parser.lexical.lexer import Kind, tokenize
from engine.sql.parser.lexical.positions import cursor
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import (
    AmbiguousFunction,
    FeatureNotSupported,
    InvalidName,
    InvalidSchemaName,
    InvalidTextRepresentation,
    SqlError,
    SqlSyntaxError,
    TooManyArguments,
    UndefinedFunction,
    UndefinedObject,
    UndefinedParameter,
    UndefinedTable,
)
from wire.types import pg_types as t
from wire.types.arrays_input import read_array
from wire.types.input import parse_text

#: More parts than any object's name has; such a name has an error of its own.
_DOTTED_MAX: Final = 64
_PG_CATALOG: Final = "pg_catalog"
OBJECTS: Final = frozenset(t.REG_TYPES)


def is_name(pg: t.PgType, text: str) -> bool:
    """Return whether a literal of `pg` is an object's name, to be read by `read_name`."""
    return pg in OBJECTS and text != "-" and not text.isdecimal()


def read_name(pg: t.PgType, text: str, context: BindContext, at: int) -> int:
    """Return the OID of the relation, type, function or schema that `text` names. Raises UndefinedTable (42P01),
    UndefinedObject (42704), UndefinedFunction (42883), AmbiguousFunction (42725) or InvalidSchemaName (3F000).
    """
    try:
        try:
            return _READERS[pg](text, context)
        except (UndefinedFunction, UndefinedObject, UndefinedTable):
            if pg is not t.REGOPERATOR:
                _require_schema(text, context)
            raise
    except SqlError as error:
        error.position = cursor(at)
        raise


def _require_schema(text: str, context: BindContext) -> None:
    """Raises InvalidSchemaName if a qualified name has a schema that does not exist (LookupExplicitNamespace)."""
    schema, dot, *_ = tokenize(text)
    if dot.text == "." and context.catalog.schema_oid(schema.text) is None:
        raise InvalidSchemaName(f'schema "{schema.text}" does not exist')


def read_names(pg: t.PgType, text: str, context: BindContext, at: int) -> list[Any]:
    """Return the OIDs of an array literal's elements, each of which is a name or a number. Raises as `read_name`;
    22P02.
    """
    element = t.element_of(pg)

    def read(item: str) -> int:
        if is_name(element, item):
            return read_name(element, item, context, at)
        oid: int = parse_text(element, item, settings=context.input_settings)
        return oid

    return read_array(text, read)


def with_oids(types: Sequence[t.PgType], values: Sequence[Any], context: Callable[[], BindContext]) -> Sequence[Any]:
    """Return parameters' values with the names of objects among them replaced by OIDs."""
    named = {
        i for i, (pg, value) in enumerate(zip(types, values, strict=True)) if pg in OBJECTS and isinstance(value, str)
    }
    if not named:
        return values
    looking = context()
    return [read_name(types[i], value, looking, -1) if i in named else value for i, value in enumerate(values)]


def function_named(text: str) -> int:
    """Return the OID of the one function that `text` names."""
    names = parse_qualified_name(text)
    found = functions_named(names[-1]) if names[:-1] in ([], [_PG_CATALOG]) else ()
    if not found:
        raise UndefinedFunction(f'function "{text}" does not exist')
    if len(found) > 1:
        raise AmbiguousFunction(f'more than one function named "{text}"')
    return found[0]


def _with_arguments(text: str, context: BindContext) -> tuple[str, list[int]]:
    """Split `name(type, type)` into the name and the OIDs of the types; `none` is a missing operand, 0
    (parseNameAndArgTypes).
    """
    name, bracket, rest = text.rpartition("(")
    if not bracket:
        raise InvalidTextRepresentation("expected a left parenthesis")
    if not rest.rstrip().endswith(")"):
        raise InvalidTextRepresentation("expected a right parenthesis")
    inside = rest.rstrip().removesuffix(")")
    listed = inside.split(",") if inside.strip() else []
    return name.strip(), [0 if word.strip().lower() == "none" else type_oid(word, context.user_type) for word in listed]


def _procedure_named(text: str, context: BindContext) -> int:
    """Return the OID of the function with those arguments."""
    name, arguments = _with_arguments(text, context)
    names = parse_qualified_name(name)
    functions = builtin_rows("pg_proc")
    for oid in functions_named(names[-1]) if names[:-1] in ([], [_PG_CATALOG]) else ():
        row = functions.filter(pc.equal(functions["oid"], oid))
        if row["proargtypes"][0].as_py() == arguments:
            return oid
    raise UndefinedFunction(f'function "{text}" does not exist')


def _operators(symbol: str) -> pa.Table:
    schema, dot, bare = symbol.rpartition(".")
    operators = builtin_rows("pg_operator")
    here = not dot or schema.lower() == _PG_CATALOG
    return operators.filter(pc.equal(operators["oprname"], bare.strip() if here else ""))


def _operator_named(text: str, _context: BindContext) -> int:
    """Return the OID of the one operator of that symbol."""
    found = _operators(text)["oid"].to_pylist()
    if not found:
        raise UndefinedFunction(f"operator does not exist: {text}")
    if len(found) > 1:
        raise AmbiguousFunction(f"more than one operator named {text}")
    return int(found[0])


def _operator_with_operands(text: str, context: BindContext) -> int:
    """Return the OID of the operator of that symbol and those operands."""
    symbol, operands = _with_arguments(text, context)
    if len(operands) == 1:
        raise UndefinedParameter(
            "missing argument", hint="Use NONE to denote the missing argument of a unary operator."
        )
    if len(operands) != 2:
        raise TooManyArguments("too many arguments", hint="Provide two argument types for operator.")
    for row in _operators(symbol).to_pylist():
        if [row["oprleft"], row["oprright"]] == operands:
            return int(row["oid"])
    raise UndefinedFunction(f"operator does not exist: {text}")


def _builtin_named(relation: str, column: str, said: str, text: str, _context: BindContext) -> int:
    """Return the OID of a built-in object of pg_catalog; `said` is its kind for the error message."""
    names = parse_qualified_name(text)
    rows = builtin_rows(relation)
    found = rows["oid"].filter(pc.equal(rows[column], names[-1])).to_pylist()
    if not found or names[:-1] not in ([], [_PG_CATALOG]):
        raise UndefinedObject(said.format(".".join(names)))
    return int(found[0])


def _role_named(text: str, context: BindContext) -> int:
    (name, *more) = parse_qualified_name(text)
    if more:
        raise InvalidName("invalid name syntax")
    oid = context.role_oid(name)
    if oid is None:
        raise UndefinedObject(f'role "{name}" does not exist')
    return oid


def _schema_named(text: str, context: BindContext) -> int:
    (name, *more) = parse_qualified_name(text)
    if more:
        raise InvalidName("invalid name syntax")
    oid = context.catalog.schema_oid(name)
    if oid is None:
        raise InvalidSchemaName(f'schema "{name}" does not exist')
    return oid


def relation_named(text: str, context: BindContext) -> int:
    """Return the OID of the relation that `text` names, including those that no query reads, such as a sequence.
    Raises UndefinedTable.
    """
    *of, name = parse_qualified_name(text, _DOTTED_MAX)
    if len(of) > 2:
        raise SqlSyntaxError(f"improper relation name (too many dotted names): {'.'.join((*of, name))}")
    schema = of[-1] if of else None
    if len(of) == 2 and of[0] != context.database:
        raise FeatureNotSupported(f'cross-database references are not implemented: "{".".join((*of, name))}"')
    oid = context.catalog.oid_of(schema, name, context.search_path)
    if oid is None:
        raise UndefinedTable(f'relation "{".".join((*of[-1:], name))}" does not exist')
    return oid


def parse_qualified_name(text: str, most: int = 2) -> list[str]:
    """Return the identifiers of `a`, `a.b` and so on, folded (stringToQualifiedNameList)."""
    *tokens, _end = tokenize(text)
    names, dots = tokens[::2], tokens[1::2]
    well_formed = len(names) == len(dots) + 1 <= most and all(d.text == "." for d in dots)
    if not well_formed or not all(n.kind in (Kind.WORD, Kind.NAME) for n in names):
        raise InvalidName("invalid name syntax")
    return [n.text for n in names]


def type_oid(text: str, users: UserTypes) -> int:
    """Return the OID of the type that `text` names, which may be a pseudotype without values (trigger). Raises as
    `type_named`.
    """
    pseudo = t.BY_NAME.get(text.strip().lower().removeprefix("pg_catalog."))
    if pseudo is not None and pseudo.category == "P":
        return pseudo.oid
    reader = StatementReader(text, tokenize(text))
    typ = type_named(text, users).pg
    domain = domain_named(reader.type_name(), users)
    return typ.oid if domain is None else domain.oid


def type_named(text: str, users: UserTypes = lambda _schema, _name: None) -> SqlType:
    """Return the type that `text` names. Raises UndefinedObject, or SqlSyntaxError for text that is no type name."""
    reader = StatementReader(text, tokenize(text))
    typ = resolve_type(reader.type_name(), users=users)
    if not reader.at_end():
        reader.fail()
    return typ


_READERS: Final[Mapping[t.PgType, Callable[[str, BindContext], int]]] = {
    t.REGCLASS: relation_named,
    t.REGTYPE: lambda text, context: type_oid(text, context.user_type),
    t.REGPROC: lambda text, _context: function_named(text),
    t.REGNAMESPACE: _schema_named,
    t.REGROLE: _role_named,
    t.REGPROCEDURE: _procedure_named,
    t.REGOPER: _operator_named,
    t.REGOPERATOR: _operator_with_operands,
    t.REGCOLLATION: partial(
        _builtin_named, "pg_collation", "collname", 'collation "{}" for encoding "UTF8" does not exist'
    ),
    t.REGCONFIG: partial(_builtin_named, "pg_ts_config", "cfgname", 'text search configuration "{}" does not exist'),
    t.REGDICTIONARY: partial(_builtin_named, "pg_ts_dict", "dictname", 'text search dictionary "{}" does not exist'),
}

"""DROP of objects of kinds that cannot be created here: functions, triggers, languages ...

The only such objects are those built into PostgreSQL, and these cannot be dropped. Migrations and scripts of pg_dump
--clean begin with DROP ... IF EXISTS, which therefore gives a notice, as on PostgreSQL.

Source: PostgreSQL 15, dropcmds.c (does_not_exist_skipping), parse_func.c (LookupFuncWithArgs).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pyarrow.compute as pc
from sqlglot import exp

from engine.common.identifiers import quote_ident
from engine.pg_catalog import PG_CATALOG
from engine.pg_catalog.builtin import functions_named
from engine.pg_catalog.builtin import rows as builtin_rows
from engine.sql.binder.type_names import domain_named, resolve_type
from engine.sql.parser.nodes.object_drops import DropFunctions, DropObjects, DropPart, NamedFunction
from engine.sql.parser.nodes.statements import QualifiedName
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import require_schema, required_by_system
from wire.errors import (
    AmbiguousFunction,
    DependentObjectsStillExist,
    InvalidSchemaName,
    SqlError,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

#: The relations that list PostgreSQL's own objects.
_LISTED: Final = {
    "language": ("pg_language", "lanname"), "tablespace": ("pg_tablespace", "spcname"), "collation": ("pg_collation", "collname"),
    "conversion": ("pg_conversion", "conname"), "access method": ("pg_am", "amname"),
    "text search configuration": ("pg_ts_config", "cfgname"), "text search dictionary": ("pg_ts_dict", "dictname"),
    "text search parser": ("pg_ts_parser", "prsname"), "text search template": ("pg_ts_template", "tmplname"),
}  # fmt: skip
_PART_OF: Final = {"trigger": "table", "rule": "relation", "policy": "table"}


def _skip_missing(definer: Definer, if_exists: bool, find: Callable[[], str]) -> None:
    """Give notice of a missing object with IF EXISTS, or raise its error. find: raises the error, or returns the
    message of a notice.
    """
    try:
        missing = find()
    except (InvalidSchemaName, UndefinedTable, UndefinedObject) as error:
        if not if_exists:
            raise
        missing = error.message
    definer.notify(f"{missing}, skipping")


def drop_objects(statement: DropObjects, definer: Definer) -> None:
    """Run DROP of named objects such as languages. Raises UndefinedObject, InvalidSchemaName,
    DependentObjectsStillExist.
    """
    for name in statement.names:
        _skip_missing(definer, statement.if_exists, partial(_find_object, statement, name, definer))


def _find_object(statement: DropObjects, name: QualifiedName, definer: Definer) -> str:
    kind = "statistics object" if statement.kind == "statistics" else statement.kind
    require_schema(name.schema, definer.snapshot)
    if statement.kind in _LISTED and name.schema in (None, PG_CATALOG):
        relation, column = _LISTED[statement.kind]
        if pc.any(pc.equal(builtin_rows(relation)[column], name.name)).as_py():
            raise required_by_system(f"{kind} {quote_ident(name.name)}")
    missing = f'{kind} "{name}"'
    if statement.if_exists:
        return f"{missing} does not exist"
    encoding = ' for encoding "UTF8"' if kind == "collation" else ""
    raise UndefinedObject(f"{missing}{encoding} does not exist")


def drop_part(statement: DropPart, definer: Definer) -> None:
    """Run DROP of a part of a table, such as a trigger. Raises UndefinedTable, InvalidSchemaName, UndefinedObject."""
    _skip_missing(definer, statement.if_exists, partial(_find_part, statement, definer))


def _find_part(statement: DropPart, definer: Definer) -> str:
    of = statement.relation
    require_schema(of.schema, definer.snapshot)
    if definer.resolve(of) is None:
        raise UndefinedTable(f'relation "{of}" does not exist')
    if statement.if_exists:
        return f'{statement.kind} "{statement.name}" for relation "{of}" does not exist'
    of_what = f'{_PART_OF[statement.kind]} "{of.name}"'
    raise UndefinedObject(f'{statement.kind} "{statement.name}" for {of_what} does not exist')


def drop_functions(statement: DropFunctions, definer: Definer) -> None:
    """Run DROP FUNCTION and its kin. Raises UndefinedFunction, UndefinedObject, InvalidSchemaName, AmbiguousFunction,
    WrongObjectType, DependentObjectsStillExist.
    """
    required: list[SqlError] = []
    for function in statement.functions:
        try:
            _skip_missing(definer, statement.if_exists, partial(_find_function, statement, function, definer))
        except DependentObjectsStillExist as error:
            required.append(error)
    if required:
        raise required[0]


def _find_function(statement: DropFunctions, function: NamedFunction, definer: Definer) -> str:
    name, kind = function.name, statement.kind
    require_schema(name.schema, definer.snapshot)
    types = [_type(argument.type, definer) for argument in function.arguments or ()]
    there = functions_named(name.name) if name.schema in (None, PG_CATALOG) else ()
    functions = builtin_rows("pg_proc")
    rows = functions.filter(pc.is_in(functions["oid"], pc.cast(list(there), "int64"))).to_pylist() if there else []
    if function.arguments is not None:
        rows = [row for row in rows if row["proargtypes"] == [typ.oid for typ in types]]
    if len(rows) > 1:
        raise AmbiguousFunction(
            f'function name "{name}" is not unique',
            hint="Specify the argument list to select the function unambiguously.",
        )
    if rows:
        raise _system_object_error(kind, rows[0], name)
    if statement.if_exists:
        return f"{kind} {name}({','.join(argument.written for argument in function.arguments or ())}) does not exist"
    said = "function" if kind == "routine" else kind
    if function.arguments is None:
        raise UndefinedFunction(f'could not find a {said} named "{name}"')
    listed = "*" if kind == "aggregate" and not types else ", ".join(t.format_type(typ) for typ in types)
    raise UndefinedFunction(f"{said} {name}({listed}) does not exist")


def _system_object_error(kind: str, row: dict[str, Any], name: QualifiedName) -> SqlError:
    """Return the error for dropping one of PostgreSQL's own objects."""
    signature = f"{quote_ident(row['proname'])}({','.join(_type_name(oid) for oid in row['proargtypes'])})"
    if kind == "aggregate" and row["prokind"] != "a":
        return WrongObjectType(f"function {signature} is not an aggregate")
    if kind == "procedure":
        return WrongObjectType(f"{signature} is not a procedure")
    if kind == "function" and row["prokind"] == "a":
        return WrongObjectType(
            f'"{name}" is an aggregate function', hint="Use DROP AGGREGATE to drop aggregate functions."
        )
    return required_by_system(f"function {signature}")


def _type_name(oid: int) -> str:
    return t.format_type(t.BY_OID[oid]) if oid in t.BY_OID else "???"


def _type(node: exp.DataType, definer: Definer) -> t.PgType:
    """Return the type of an argument, which may be a pseudo-type."""
    name = node.args["kind"].name
    pseudo = t.BY_NAME.get(name) if node.args.get("schema") in (None, PG_CATALOG) else None
    if pseudo is not None and pseudo.category == "P" and not node.args.get("array"):
        return pseudo
    try:
        return domain_named(node, definer.user_type) or resolve_type(node, definer.notify, definer.user_type).pg
    except UndefinedObject as error:
        raise UndefinedObject(error.message) from None

"""has_..._privilege and pg_has_role with constant arguments, in all their forms: for a role given by name or OID, or
the current one, and for an object given by name or OID. (For columns of a query: `engine.sql.binder.privilege_calls`.)

An OID that does not exist gives null; a name that does not exist is an error. Source: PostgreSQL 15, acl.c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from engine.catalog.model import acl
from engine.catalog.model.acl import PUBLIC, Kind
from engine.catalog.model.objects import DATABASE, StoredRelation
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.rights import DATABASE_OID
from engine.catalog.model.roles import PREDEFINED, READ_ALL_DATA
from engine.catalog.model.user_types import by_oid
from engine.catalog.snapshot import TEMPORARY
from engine.pg_catalog import SystemCatalog
from engine.pg_catalog.builtin import functions_named, rows
from engine.pg_catalog.declared import SystemRelation
from engine.pg_catalog.namespaces import is_system_schema, schema_oid
from engine.sql.binder.regnames import parse_qualified_name, type_oid
from engine.sql.functions import privilege_words as words
from engine.statements.shared.names import pg_type_named
from wire.errors import (
    InvalidSchemaName,
    UndefinedColumn,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.session.context.session_state import SessionState

Arguments = Sequence[Any]


def _role_and_arguments(session: SessionState, arguments: Arguments, count: int) -> tuple[int, Arguments]:
    """Return the OID of the role in question, and the other arguments. count: their number."""
    if len(arguments) == count:
        return session.roles.current.oid, arguments
    return _role(session, arguments[0]), arguments[1:]


def _role(session: SessionState, said: str | int) -> int:
    if isinstance(said, int):
        return said
    if said == "public":
        return PUBLIC
    current = session.roles.current
    known = session.catalog.current().roles.find_role(said) or PREDEFINED.get(said)
    found = known or (current if said == current.name else None)
    if found is None:
        raise UndefinedObject(f'role "{said}" does not exist')
    return found.oid


def _is_all_powerful(session: SessionState, role: int) -> bool:
    """Return whether the role has all privileges: it is a superuser. While there is no role at all, the current user
    counts as one.
    """
    current = session.roles.current
    return session.authority().judge.is_superuser(role) or (role == current.oid and current.superuser)


def _any(session: SessionState, role: int, oid: int, kind: Kind, asked: words.Asked) -> bool:
    if _is_all_powerful(session, role):
        return True
    judge = session.authority().judge
    return bool(judge.may(role, oid, kind, asked.rights) or judge.may_give(role, oid, kind, asked.options))


# -- relations -------------------------------------------------------------------------------------------------------


def _named_relation(session: SessionState, text: str) -> StoredRelation | SystemRelation:
    """Find a relation by name. Raises UndefinedTable, InvalidSchemaName."""
    names = parse_qualified_name(text)
    schema, name = (names[0], names[1]) if len(names) == 2 else (None, names[0])
    if schema is not None and schema_oid(session.catalog.current(), schema) is None:
        raise InvalidSchemaName(f'schema "{schema}" does not exist')
    path = session.search_path()
    system = SystemCatalog.oid_of(path if schema is None else (schema,), name)
    if system is not None and (relation := SystemCatalog.with_oid(system)) is not None:
        return relation
    found = session.catalog.current().resolve(schema, name, path)
    if found is None:
        raise UndefinedTable(f'relation "{".".join(names)}" does not exist')
    return found


def _relation(session: SessionState, said: str | int) -> StoredRelation | SystemRelation | None:
    if isinstance(said, str):
        return _named_relation(session, said)
    if (system := SystemCatalog.with_oid(said)) is not None:
        return system
    return next((r for r in session.catalog.current().relations.values() if r.oid == said), None)


def _of_relation(session: SessionState, role: int, found: StoredRelation | SystemRelation, asked: words.Asked) -> bool:
    if isinstance(found, SystemRelation):
        may_read = not found.closed or session.authority().judge.has_rights_of(role, READ_ALL_DATA)
        return _is_all_powerful(session, role) or bool(asked.rights & acl.SELECT and may_read)
    if found.schema == TEMPORARY:
        return True
    return _any(session, role, found.oid, "s" if isinstance(found, NumberSequence) else "r", asked)


def _has_table(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked, found = words.parse_privileges("table", text), _relation(session, said)
    return None if found is None else _of_relation(session, role, found, asked)


def _has_sequence(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked, found = words.parse_privileges("sequence", text), _relation(session, said)
    if found is None:
        return None
    if not isinstance(found, NumberSequence):
        raise WrongObjectType(f'"{found.name}" is not a sequence')
    return _of_relation(session, role, found, asked)


def _has_any_column(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked, found = words.parse_privileges("any_column", text), _relation(session, said)
    if found is None:
        return None
    if _of_relation(session, role, found, asked):
        return True
    own = () if isinstance(found, SystemRelation) else session.authority().judge.rights.of(found.oid).columns
    return not isinstance(found, SystemRelation) and any(
        _by_column(session, role, found.oid, number, asked) for number, _ in own
    )


def _has_column(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, column, text) = _role_and_arguments(session, arguments, 3)
    asked, found = words.parse_privileges("column", text), _relation(session, said)
    if found is None:
        return None
    number = _column(found, column)
    if number is None:
        return None
    if _of_relation(session, role, found, asked):
        return True
    return not isinstance(found, SystemRelation) and _by_column(session, role, found.oid, number, asked)


def _column(found: StoredRelation | SystemRelation, said: str | int) -> int | None:
    """Return a column's number; None for a number that no column has. Raises UndefinedColumn."""
    columns = found.declared_columns() if isinstance(found, SystemRelation) else getattr(found, "columns", ())
    if isinstance(said, int):
        return next((column.number for column in columns if column.number == said), None)
    number: int | None = next((column.number for column in columns if column.name == said), None)
    if number is None:
        raise UndefinedColumn(f'column "{said}" of relation "{found.name}" does not exist')
    return number


def _by_column(session: SessionState, role: int, oid: int, number: int, asked: words.Asked) -> bool:
    judge = session.authority().judge
    own = judge.rights.of(oid)
    given = acl.options(own.column(number), role, own.owner, asked.options, judge.has_rights_of)
    return bool(judge.may_column(role, oid, number, asked.rights) or given)


# -- other objects ---------------------------------------------------------------------------------------------------


def _has_schema(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked, snapshot = words.parse_privileges("schema", text), session.catalog.current()
    oid = schema_oid(snapshot, said) if isinstance(said, str) else said
    if oid is None:
        raise InvalidSchemaName(f'schema "{said}" does not exist')
    if any(schema.oid == oid for schema in snapshot.schemas.values()):
        return _any(session, role, oid, "n", asked)
    if not is_system_schema(oid):
        return None
    return _is_all_powerful(session, role) or bool(asked.rights & acl.USAGE)


def _has_database(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked = words.parse_privileges("database", text)
    if isinstance(said, int):
        return _any(session, role, DATABASE_OID, "d", asked) if said == DATABASE_OID else None
    if said != DATABASE:
        raise UndefinedObject(f'database "{said}" does not exist', sqlstate="3D000")
    return _any(session, role, DATABASE_OID, "d", asked)


def _has_function(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked = words.parse_privileges("function", text)
    if isinstance(said, str) and not functions_named(parse_qualified_name(said.partition("(")[0])[-1]):
        raise UndefinedFunction(f'function "{said}" does not exist')
    if not isinstance(said, str) and said not in _oids("pg_proc"):
        return None
    return _everybodys(session, role, asked)


def _has_type(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked = words.parse_privileges("type", text)
    snapshot = session.catalog.current()
    users = partial(pg_type_named, snapshot, search_path=session.search_path())
    oid = type_oid(said, users) if isinstance(said, str) else said
    if (found := by_oid(snapshot.types).get(oid)) is not None:
        return _any(session, role, t.element_of(found).oid if found.is_array else oid, "T", asked)
    return _everybodys(session, role, asked) if isinstance(said, str) or oid in t.BY_OID else None


def _everybodys(session: SessionState, role: int, asked: words.Asked) -> bool:
    """Return whether PostgreSQL grants the privilege on a system object to everybody, or the role has all privileges."""
    return bool(asked.rights) or _is_all_powerful(session, role)


#: Kinds whose only objects are PostgreSQL's own: the relation that lists them and the column of their names; None:
#: there are none.
_SYSTEM_KINDS: Final = {
    "language": ("pg_language", "lanname"),
    "tablespace": ("pg_tablespace", "spcname"),
    "foreign_data_wrapper": None,
    "server": None,
}


def _has_of_system(kind: str, session: SessionState, arguments: Arguments) -> bool | None:
    """Return whether the role has a privilege on a system object: everybody may use languages, only a superuser the
    other kinds.
    """
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked, where = words.parse_privileges(kind, text), _SYSTEM_KINDS[kind]
    if isinstance(said, str) and (where is None or said not in rows(where[0])[where[1]].to_pylist()):
        name = "foreign-data wrapper" if kind == "foreign_data_wrapper" else kind
        raise UndefinedObject(f'{name} "{said}" does not exist')
    if not isinstance(said, str) and (where is None or said not in _oids(where[0])):
        return None
    return _everybodys(session, role, asked) if kind == "language" else _is_all_powerful(session, role)


@cache
def _oids(relation: str) -> frozenset[int]:
    return frozenset(rows(relation)["oid"].to_pylist())


def _has_role(session: SessionState, arguments: Arguments) -> bool | None:
    role, (said, text) = _role_and_arguments(session, arguments, 2)
    asked, of, snapshot = words.asked_of_role(text), _role(session, said), session.catalog.current()
    if _is_all_powerful(session, role):
        return True
    asking = snapshot.roles.with_oid(role)
    return asking is not None and bool(asked & words.of_role(session.authority().judge, asking, of))


def _no_row_security(_session: SessionState, _arguments: Arguments) -> bool:
    return False


FUNCTIONS: Final[dict[str, Callable[[SessionState, Arguments], bool | None]]] = {
    "has_table_privilege": _has_table,
    "has_any_column_privilege": _has_any_column,
    "has_column_privilege": _has_column,
    "has_sequence_privilege": _has_sequence,
    "has_schema_privilege": _has_schema,
    "has_database_privilege": _has_database,
    "has_function_privilege": _has_function,
    "has_type_privilege": _has_type,
    **{
        f"has_{kind}_privilege": partial(_has_of_system, kind)
        for kind in ("language", "foreign_data_wrapper", "server", "tablespace")
    },
    "pg_has_role": _has_role,
    "row_security_active": _no_row_security,
}

"""has_..._privilege and pg_has_role over values of a query: lookups in `sluice.own_privileges`, or in
`sluice.role_privileges` for a role other than the current one, inlined like the functions of `inlined`.

The privilege argument must be a constant, because it decides which bits are tested. The session evaluates calls whose
arguments are all constants (`engine.session.context.privilege_functions`); it also knows other roles and reports names
that do not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from engine.sql.functions import privilege_words as words
from wire.errors import UndefinedObject

#: A role's OID by its name.
RoleOid = Callable[[str], int | None]

_OWN: Final = (
    "from (select kind, oid, number, name::text, rights, options from sluice.own_privileges)"
    ' as "=p" ("=kind", "=oid", "=number", "=name", "=rights", "=options")'
)
#: The same for any role. `_of_role` relies on each query having one WHERE.
_OF_ROLES: Final = (
    "from (select role, rolename::text, kind, oid, number, name::text, rights, options from sluice.role_privileges)"
    ' as "=p" ("=role", "=rolename", "=kind", "=oid", "=number", "=name", "=rights", "=options")'
)
_TYPES: Final = 'from (select oid from pg_catalog.pg_type) as "=t" ("=type")'
_LANGUAGES: Final = 'from (select oid, lanname::text from pg_catalog.pg_language) as "=l" ("=oid", "=name")'
_TABLESPACES: Final = 'from (select oid, spcname::text from pg_catalog.pg_tablespace) as "=s" ("=oid", "=name")'
_IS_ROLE: Final = '("=role"::text = $1::text or "=rolename" = $1::text)'
_ANY: Final = '(("=rights" & {rights}) <> 0 or ("=options" & {options}) <> 0)'
_BY_NAME: Final = '("=oid"::text = ${at}::text or "=name" = ${at}::text)'
_QUERIES: Final = {
    "table": f"select {_ANY} {_OWN} where \"=kind\" = 'r' and \"=oid\" = ${{at}}::regclass and \"=number\" = 0",
    "sequence": f"select {_ANY} {_OWN} where \"=kind\" = 'r' and \"=oid\" = ${{at}}::regclass and \"=number\" = 0",
    "any_column": f"select bool_or({_ANY}) {_OWN} where \"=kind\" = 'r' and \"=oid\" = ${{at}}::regclass",
    "column": (
        f"select bool_or({_ANY}) {_OWN} where \"=kind\" = 'r' and \"=oid\" = ${{at}}::regclass"
        ' and ("=number" = 0 or "=number"::text = ${column}::text or "=name" = ${column}::text)'
    ),
    "schema": f"select {_ANY} {_OWN} where \"=kind\" = 'n' and {_BY_NAME}",
    "database": f"select {_ANY} {_OWN} where \"=kind\" = 'd' and {_BY_NAME}",
    "function": 'select true from (select oid from pg_catalog.pg_proc) as "=f" ("=oid") where "=oid" = ${at}',
    # All roles may use PostgreSQL's own types.
    "type": (
        f"select (select bool_or(case \"=kind\" when 'T' then {_ANY} else \"=rights\" <> 0 end)"
        f" or ({{rights}} <> 0 and not bool_or(\"=kind\" = 'T'))"
        f" {_OWN} where (\"=kind\" = 'S' or \"=kind\" = 'T' and \"=oid\" = ${{at}}))"
        f' {_TYPES} where "=type" = ${{at}}'
    ),
    "language": f"select true {_LANGUAGES} where {_BY_NAME}",
    # Sluice has no foreign data wrappers and no foreign servers.
    "foreign_data_wrapper": "select false where ${at} is null",
    "server": "select false where ${at} is null",
    "tablespace": f"select (select \"=rights\" <> 0 {_OWN} where \"=kind\" = 'S') {_TABLESPACES} where {_BY_NAME}",
}  # fmt: skip
_ROLE: Final = f'select ("=rights" & {{rights}}) <> 0 {_OWN} where "=kind" = \'R\' and {_BY_NAME}'


def query_text(name: str, arguments: list[exp.Expression], role_oid: RoleOid) -> str | None:
    """Return the query that a call stands for, with its arguments as $1 and so on; None for a call that the session
    evaluates, or for another function. Raises InvalidParameterValue for an unknown privilege, UndefinedObject for an
    unknown role.
    """
    kind = "role" if name == "pg_has_role" else name.removeprefix("has_").removesuffix("_privilege")
    if (kind != "role" and f"has_{kind}_privilege" != name) or kind not in (*words.KINDS, "role"):
        return None
    count = 3 if kind == "column" else 2
    named = len(arguments) == count + 1
    if len(arguments) != count + named or all(_is_constant(a) for a in arguments):
        return None
    asked = _bare(arguments[-1])
    if not isinstance(asked, exp.Literal) or not asked.is_string:
        return None
    text = _text(kind, asked.name, at=2 if named else 1)
    return _of_role(text, arguments[0], role_oid) if named and not _is_current(arguments[0]) else text


def _text(kind: str, asked: str, at: int) -> str:
    if kind == "role":
        return _ROLE.format(rights=words.asked_of_role(asked), at=at)
    wanted = words.parse_privileges(kind, asked)
    return _QUERIES[kind].format(rights=wanted.rights, options=wanted.options, at=at, column=at + 1)


def _of_role(text: str, role: exp.Expression, role_oid: RoleOid) -> str:
    """Return the query for the role that is the first argument."""
    said = _bare(role)
    if isinstance(said, exp.Literal) and said.is_string and said.name != "public" and role_oid(said.name) is None:
        raise UndefinedObject(f'role "{said.name}" does not exist')
    if _OWN not in text:
        return text
    return text.replace(_OWN, _OF_ROLES).replace(" where ", f" where {_IS_ROLE} and ", 1)


def _bare(argument: exp.Expression) -> exp.Expression:
    """Return the argument without the casts around it, which definitions of views contain."""
    while isinstance(argument, exp.Cast | exp.Paren):
        argument = argument.this
    return argument


def _is_current(argument: exp.Expression) -> bool:
    return isinstance(argument, exp.Anonymous) and str(argument.this) in ("current_user", "current_role", "user")


def _is_constant(argument: exp.Expression) -> bool:
    argument = _bare(argument)
    return (
        isinstance(argument, exp.Literal | exp.Parameter | exp.Null) or _is_current(argument) or _is_session(argument)
    )


def _is_session(argument: exp.Expression) -> bool:
    calls = ("session_user", "current_database", "current_catalog", "current_schema")
    return isinstance(argument, exp.Anonymous) and str(argument.this) in calls and not argument.expressions

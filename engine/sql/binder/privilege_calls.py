"""has_..._privilege and pg_has_role of what a query gives, for the current role: questions to `sluice.own_privileges`, like the
functions of `inlined`. What is asked for has to be written out, as it decides which bits are looked at.

Calls with constants only are the session's (`engine.privilege_functions`), which also knows other roles and tells of names that
mean nothing.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine import privilege_words as words

_OWN: Final = (
    "from (select kind, oid, number, name::text, rights, options from sluice.own_privileges)"
    ' as "=p" ("=kind", "=oid", "=number", "=name", "=rights", "=options")'
)
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
    "type": 'select true from (select oid from pg_catalog.pg_type) as "=t" ("=oid") where "=oid" = ${at}',
    "language": "select true where ${at} is not null",
    "foreign_data_wrapper": f"select \"=rights\" <> 0 {_OWN} where \"=kind\" = 'S' and ${{at}} is not null",
    "server": f"select \"=rights\" <> 0 {_OWN} where \"=kind\" = 'S' and ${{at}} is not null",
    "tablespace": f"select \"=rights\" <> 0 {_OWN} where \"=kind\" = 'S' and ${{at}} is not null",
}  # fmt: skip
_ROLE: Final = f'select ("=rights" & {{rights}}) <> 0 {_OWN} where "=kind" = \'R\' and {_BY_NAME}'


def query_text(name: str, arguments: list[exp.Expression]) -> str | None:
    """The query that a call stands for, with its arguments as $1 and so on; None for one that the session answers, or that is
    something else. Raises InvalidParameterValue for a privilege that there is not."""
    kind = "role" if name == "pg_has_role" else name.removeprefix("has_").removesuffix("_privilege")
    if (kind != "role" and f"has_{kind}_privilege" != name) or kind not in (*words.KINDS, "role"):
        return None
    count = 3 if kind == "column" else 2
    named = len(arguments) == count + 1 and _is_current(arguments[0])
    if len(arguments) != count + named or all(_is_constant(a) for a in arguments):
        return None
    asked = arguments[-1]
    if not isinstance(asked, exp.Literal) or not asked.is_string:
        return None
    at = 2 if named else 1
    if kind == "role":
        return _ROLE.format(rights=words.asked_of_role(asked.name), at=at)
    wanted = words.asked(kind, asked.name)
    return _QUERIES[kind].format(rights=wanted.rights, options=wanted.options, at=at, column=at + 1)


def _is_current(argument: exp.Expression) -> bool:
    return isinstance(argument, exp.Anonymous) and str(argument.this) in ("current_user", "current_role", "user")


def _is_constant(argument: exp.Expression) -> bool:
    return (
        isinstance(argument, exp.Literal | exp.Parameter | exp.Null) or _is_current(argument) or _is_session(argument)
    )


def _is_session(argument: exp.Expression) -> bool:
    calls = ("session_user", "current_database", "current_catalog", "current_schema")
    return isinstance(argument, exp.Anonymous) and str(argument.this) in calls and not argument.expressions

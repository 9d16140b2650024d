"""The options of views: WITH (security_barrier, security_invoker, check_option) and ALTER VIEW ... SET, RESET (reloptions.c:
view_reloptions)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import View
from engine.settings.session_settings import truth
from engine.sql.deparse.updatable_views import definition_of, why_not
from engine.sql.parser.nodes.statements import AlterViewOptions
from engine.statements.shared.definer import Definer
from engine.statements.shared.dependencies import kind_of
from wire.errors import FeatureNotSupported, InvalidParameterValue, UndefinedTable, WrongObjectType

_BOOLEAN: Final = ("security_barrier", "security_invoker")
_CHECK: Final = "check_option"
_CHECKS: Final = ("local", "cascaded")


def check_options(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the options as written, if they are valid. Raises InvalidParameterValue."""
    found: dict[str, str] = {}
    for name, value in options:
        if name not in (*_BOOLEAN, _CHECK):
            raise InvalidParameterValue(f'unrecognized parameter "{name}"')
        if name in found:
            raise InvalidParameterValue(f'parameter "{name}" specified more than once')
        if name == _CHECK and value.lower() not in _CHECKS:
            message = f'invalid value for enum option "{name}": {value}'
            raise InvalidParameterValue(message, detail='Valid values are "local" and "cascaded".')
        if name in _BOOLEAN and truth(value) is None:
            raise InvalidParameterValue(f'invalid value for boolean option "{name}": {value}')
        found[name] = value
    return tuple(found.items())


def require_updatable(options: Iterable[tuple[str, str]], query: exp.Expression) -> None:
    """Raise FeatureNotSupported for a check option of a view that is not updatable (DefineView)."""
    reason = why_not(query) if any(name == _CHECK for name, _ in options) else None
    if reason is not None:
        raise FeatureNotSupported("WITH CHECK OPTION is supported only on automatically updatable views", hint=reason)


def alter_view_options(statement: AlterViewOptions, definer: Definer) -> None:
    """Run ALTER VIEW ... SET and RESET. Raises UndefinedTable, WrongObjectType, InvalidParameterValue,
    InsufficientPrivilege.
    """
    view = definer.resolve(statement.name)
    if view is None and statement.if_exists:
        definer.notify(f'relation "{statement.name.name}" does not exist, skipping')
        return
    if view is None:
        raise UndefinedTable(f'relation "{statement.name}" does not exist')
    if not isinstance(view, View):
        raise WrongObjectType(f'"{view.name}" is not a view')
    definer.authority.require_owner(view, kind_of(view))
    said = {name for name, _ in statement.options}
    kept = [option for option in view.options if option[0] not in said]
    new = [(name, value) for name, value in statement.options if value is not None]
    options = check_options((*kept, *new))
    require_updatable(new, definition_of(view))
    definer.catalog.objects.put(replace(view, options=options), replacing=True)

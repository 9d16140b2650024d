"""The options of views: WITH (security_barrier, security_invoker) and ALTER VIEW ... SET, RESET (reloptions.c: view_reloptions)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from engine.catalog.objects import View
from engine.settings import truth
from engine.sql.statements import AlterViewOptions
from engine.utility.definer import Definer
from engine.utility.dependencies import kind_of
from wire.errors import FeatureNotSupported, InvalidParameterValue, UndefinedTable, WrongObjectType

_BOOLEAN: Final = ("security_barrier", "security_invoker")


def checked(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """What was written, if it may be. Raises InvalidParameterValue, FeatureNotSupported."""
    found: dict[str, str] = {}
    for name, value in options:
        if name == "check_option":
            raise FeatureNotSupported("not supported: WITH CHECK OPTION")
        if name not in _BOOLEAN:
            raise InvalidParameterValue(f'unrecognized parameter "{name}"')
        if name in found:
            raise InvalidParameterValue(f'parameter "{name}" specified more than once')
        if truth(value) is None:
            raise InvalidParameterValue(f'invalid value for boolean option "{name}": {value}')
        found[name] = value
    return tuple(found.items())


def alter_view_options(statement: AlterViewOptions, definer: Definer) -> None:
    """Raises UndefinedTable, WrongObjectType, InvalidParameterValue, InsufficientPrivilege."""
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
    definer.catalog.put(replace(view, options=checked((*kept, *new))), replacing=True)

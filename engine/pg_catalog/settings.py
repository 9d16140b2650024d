"""pg_settings: the settings that exist here and no others. PostgreSQL's settings have PostgreSQL's category,
description and unit, by which clients may look for them.

A value is a number of its unit, as in PostgreSQL: `work_mem` is 4096, of kB, where SHOW prints 4MB.

Source: PostgreSQL 15, guc.c (GetConfigOptionValues).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from engine.catalog.snapshot import SLUICE
from engine.pg_catalog.builtin import rows as builtin_rows
from engine.pg_catalog.declared import Row, SystemContext, SystemRelation, postgres
from engine.settings import accepted
from engine.settings.session_settings import NOT_LISTED, SETTINGS, Setting, size_bytes, time_ms

_UNITS: Final = {"ms": 1, "s": 1_000, "min": 60_000, "B": 1, "kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20}
_TYPES: Final = {"time": "integer", "size": "integer"}
_OURS: Final = "Sluice"
_NOTHING: Final = "It changes nothing in Sluice."


@cache
def _builtin_settings() -> Mapping[str, Mapping[str, Any]]:
    """Return PostgreSQL's rows of pg_settings, by name."""
    return {row["name"]: row for row in builtin_rows("pg_settings").to_pylist()}


def _pg_settings(context: SystemContext) -> Iterator[Row]:
    for setting in SETTINGS.values():
        if setting.name not in NOT_LISTED and context.may_examine(setting.name):
            yield _row(setting, context.settings.get(setting.name), context.settings.default(setting))


def _row(setting: Setting, value: str, reset: str) -> Row:
    known = _builtin_settings().get(setting.name, {})
    unit = known.get("unit") or {"time": "ms", "size": "B"}.get(setting.kind)
    numeric = setting.kind in ("integer", "real", "time", "size")
    shown = "g" if setting.kind == "real" else ".0f"
    size = _UNITS[unit] if unit and setting.kind in ("time", "size") else 1
    lowest, highest = (f"{x / size:{shown}}" for x in (setting.minimum, setting.maximum))
    return (
        setting.name, _number(setting, value, unit), unit, known.get("category", _OURS),
        known.get("short_desc", setting.description), _extra(setting, known), _context(setting),
        _TYPES.get(setting.kind, setting.kind), "default" if value == setting.default else _source(value, reset),
        lowest if numeric else None, highest if numeric else None, list(setting.values) or None,
        _number(setting, setting.default, unit), _number(setting, reset, unit), None, None, False,
    )  # fmt: skip


def _number(setting: Setting, value: str, unit: str | None) -> str:
    if unit is None or setting.kind not in ("time", "size"):
        return value
    return str((time_ms(value) if setting.kind == "time" else size_bytes(value)) // _UNITS[unit])


def _extra(setting: Setting, known: Mapping[str, Any]) -> str | None:
    """Return the second part of the description. For a setting that is accepted without effect, it says so."""
    told = known.get("extra_desc")
    if setting.name not in accepted.ROWS:
        return told
    return f"{told} {_NOTHING}" if told else _NOTHING


def _context(setting: Setting) -> str:
    if setting.at_start:
        return "postmaster"
    if setting.of_member:
        return "sighup"
    if setting.at_connection:
        return "superuser-backend"
    return "internal" if setting.fixed else "superuser" if setting.privileged else "user"


def _source(value: str, reset: str) -> str:
    """Return the source of a value that is not the built-in one: SET, or the start of the session."""
    return "client" if value == reset else "session"


def _show_rows(context: SystemContext) -> Iterator[Row]:
    """Yield settings as SHOW formats them; current_setting() looks a name up here if the name is computed by the query."""
    for name in (*filter(context.may_examine, SETTINGS), *context.settings.custom_names()):
        yield name, context.settings.get(name)


SYSTEM: Final = (
    postgres("pg_settings", _pg_settings, volatile=True),
    SystemRelation(15_906, "settings", "name text, value text", _show_rows, volatile=True, schema=SLUICE),
)

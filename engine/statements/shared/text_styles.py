"""Refuses casts to text that depend on settings unknown to the engines: DateStyle, IntervalStyle, extra_float_digits,
bytea_output.

Constants are folded by the session's settings when a query is bound. Values that an engine casts are written in the
default styles. Under any other style such a cast is refused rather than answered in the wrong style. Dates or floats
that the client receives without a cast are not affected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.plan_ir.expr import Call, Node
from engine.plan_ir.rewrite import expressions, walk_all
from engine.settings.session_settings import SessionSettings
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

_DATES: Final = (
    t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ, t.DATERANGE, t.TSRANGE, t.TSTZRANGE, t.DATEMULTIRANGE, t.TSMULTIRANGE,
)  # fmt: skip
#: A setting, whether its value is the engines' own style, and the types whose text it affects.
_STYLES: Final[tuple[tuple[str, Callable[[str], bool], tuple[t.PgType, ...]], ...]] = (
    ("DateStyle", lambda value: value.startswith("ISO"), _DATES),
    ("IntervalStyle", lambda value: value == "postgres", (t.INTERVAL,)),
    ("extra_float_digits", lambda value: int(value) > 0, (t.FLOAT4, t.FLOAT8)),
    ("bytea_output", lambda value: value == "hex", (t.BYTEA,)),
)


def foreign_styles(settings: SessionSettings) -> tuple[str, ...]:
    """Return the settings by which the session formats text differently from the engines."""
    return tuple(name for name, is_default, _types in _STYLES if not is_default(settings.get(name)))


def check_styles(plan: Node, settings: SessionSettings) -> None:
    """Raise FeatureNotSupported if the plan casts a value to text whose format a setting changes."""
    foreign = foreign_styles(settings)
    for name, _is_default, types in _STYLES:
        if name not in foreign:
            continue
        for node in walk_all(plan):
            for expr in expressions(node):
                for part in expr.walk():
                    if isinstance(part, Call) and _writes(part, types):
                        raise FeatureNotSupported(
                            f"not supported: a cast to text under {name} = {settings.get(name)}",
                            hint=f"SET {name} = DEFAULT, or select the value without the cast.",
                        )


def _writes(call: Call, types: tuple[t.PgType, ...]) -> bool:
    if call.type.pg.category != "S":
        return False
    sources = (arg.type.pg for arg in call.args)
    return any((t.element_of(pg) if pg.is_array else pg) in types for pg in sources)

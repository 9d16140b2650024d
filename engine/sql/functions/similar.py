"""SQL regular expressions (PostgreSQL 15, section 9.7.2) where the binder has not rewritten a constant pattern: the
functions `similar_to_escape` and `similar_escape`, and `substring(text SIMILAR pattern ESCAPE escape)`.

`engine.sql.regex.patterns` makes a POSIX regular expression of such a pattern: at once from constants, and in process,
by `engine.executors.local.regular_expressions`, from computed ones.

Source: PostgreSQL 15, regexp.c (similar_escape_internal), system_functions.sql (substring).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.regexp import substring_of_match
from engine.sql.functions.trees import both, constant_text, is_null, sql, text
from engine.sql.regex.patterns import similar_to_escape
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_NULL = {"local": "CAST(NULL AS VARCHAR)", "spark": "CAST(NULL AS STRING)"}


def _rewrite(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build similar_to_escape(pattern [, escape])."""
    if any(map(is_null, args)):
        return sql(engine, _NULL[engine])
    known = [constant_text(arg) for arg in args]
    if None not in known:
        return text(similar_to_escape(*(value for value in known if value is not None)))
    if engine == "spark":
        raise FeatureNotSupported("not supported: a SQL regular expression that is not a constant")
    escape = args[1] if len(args) > 1 else text("\\")
    return sql("local", "sluice_similar_to_escape($1, $2)", args[0], escape)


def _rewrite_or_default(
    engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> exp.Expression:
    """Build similar_escape(pattern, escape), for which a null escape is a backslash."""
    if is_null(args[1]):
        return _rewrite(engine, args[:1], call)
    if constant_text(args[1]) is not None:
        return _rewrite(engine, args, call)
    escape = sql(engine, "coalesce($1, $2)", args[1], text("\\"))
    return _rewrite(engine, [args[0], escape], call)


def _substring(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build substring(text, pattern, escape): the part between the two separators, or the text if it matches."""
    return substring_of_match(engine, [args[0], _rewrite(engine, args[1:], call)], call)


ROWS: tuple[Function, ...] = (
    fn("similar_to_escape", (t.TEXT,), t.TEXT, **both(_rewrite)),
    fn("similar_to_escape", (t.TEXT, t.TEXT), t.TEXT, **both(_rewrite)),
    fn("similar_escape", (t.TEXT, t.TEXT), t.TEXT, strict=False, **both(_rewrite_or_default)),
    fn("substring", (t.TEXT, t.TEXT, t.TEXT), t.TEXT, **both(_substring)),
)

"""Functions and operators that query a jsonb with a jsonpath: PostgreSQL 15, sections 9.16.1 (`@?`, `@@`) and 9.16.2.

They run in the local engine only (`engine.executors.local.json_path_functions`). The functions whose names end in _tz
may use the session's time zone. The operators treat all variables as null and suppress errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.plan_ir.expr import Builder, Function
from engine.sql.functions.building import fn, op
from engine.sql.functions.formatting import SESSION_ZONE
from engine.sql.functions.trees import sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_RETURNS: Final = {
    "exists": t.BOOL, "match": t.BOOL, "query": t.JSONB, "query_array": t.JSONB, "query_first": t.JSONB,
}  # fmt: skip
_DEFAULTS: Final = ("'{}'", "FALSE")


def _query_builder(name: str, zone: str) -> Builder:
    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        given = (*(f"${n}" for n in range(1, len(args) + 1)), *_DEFAULTS[len(args) - 2 :])
        return sql("local", f"sluice_{name}({', '.join(given)}, {zone})", *args)

    return build


def _functions() -> Iterator[Function]:
    for kind, returns in _RETURNS.items():
        for suffix, zone in (("", "''"), ("_tz", SESSION_ZONE)):
            yield fn(
                f"jsonb_path_{kind}{suffix}",
                (t.JSONB, t.JSONPATH, t.JSONB, t.BOOL),
                returns,
                local=_query_builder(f"jsonb_path_{kind}", zone),
                optional=2,
                names=("target", "path", "vars", "silent"),
                defaults=("{}", False),
                returns_set=kind == "query",
                volatility="stable" if suffix else "immutable",
            )


ROWS: tuple[Function, ...] = (
    *_functions(),
    op("@?", (t.JSONB, t.JSONPATH), t.BOOL, local="sluice_jsonb_path_exists($1, $2, '', TRUE, '')"),
    op("@@", (t.JSONB, t.JSONPATH), t.BOOL, local="sluice_jsonb_path_match($1, $2, '', TRUE, '')"),
)

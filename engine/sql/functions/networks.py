"""Network addresses: containment and parts. They run in the local engine only (`engine.executors.local.networks`).

Source: PostgreSQL 15, pg_proc and pg_operator; network.c.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.plan_ir.expr import Function
from engine.sql.functions.building import NOTHING, cast, fn, op
from wire.types import pg_types as t


def _functions() -> Iterator[Function]:
    parts = (
        ("host", t.TEXT), ("masklen", t.INT4), ("family", t.INT4), ("broadcast", t.INET), ("netmask", t.INET),
        ("hostmask", t.INET), ("network", t.CIDR),
    )  # fmt: skip
    for name, returns in parts:
        yield fn(name, (t.INET,), returns, local=f"sluice_inet_{name}($1)", spark=NOTHING)
    yield fn("set_masklen", (t.INET, t.INT4), t.INET, local="sluice_inet_set_masklen($1, $2)", spark=NOTHING)
    yield fn("set_masklen", (t.CIDR, t.INT4), t.CIDR, local="sluice_inet_set_network_length($1, $2)", spark=NOTHING)
    yield cast(t.INET, t.CIDR, local="sluice_inet_network($1)", spark=NOTHING, context="assignment")
    yield fn("inet_merge", (t.INET, t.INET), t.CIDR, local="sluice_inet_merged($1, $2)", spark=NOTHING)
    same = "sluice_inet_family($1) = sluice_inet_family($2)"
    yield fn("inet_same_family", (t.INET, t.INET), t.BOOL, local=same, spark=NOTHING)


def _arithmetic() -> Iterator[Function]:
    yield fn("abbrev", (t.INET,), t.TEXT, local="sluice_inet_out($1)", spark=NOTHING)
    yield fn("abbrev", (t.CIDR,), t.TEXT, local="sluice_inet_abbreviated($1)", spark=NOTHING)
    for symbol, function in (("&", "and"), ("|", "or")):
        yield op(symbol, (t.INET, t.INET), t.INET, local=f"sluice_inet_{function}($1, $2)", spark=NOTHING)
    yield op("~", (t.INET,), t.INET, local="sluice_inet_not($1)", spark=NOTHING)
    yield op("+", (t.INET, t.INT8), t.INET, local="sluice_inet_plus($1, $2)", spark=NOTHING)
    yield op("+", (t.INT8, t.INET), t.INET, local="sluice_inet_plus($2, $1)", spark=NOTHING)
    yield op("-", (t.INET, t.INT8), t.INET, local="sluice_inet_plus($1, -$2)", spark=NOTHING)
    yield op("-", (t.INET, t.INET), t.INT8, local="sluice_inet_distance($1, $2)", spark=NOTHING)


def _operators() -> Iterator[Function]:
    overlap = "sluice_inet_contains_or_is($1, $2) OR sluice_inet_contains_or_is($2, $1)"
    for symbol, local in (
        ("<<", "sluice_inet_contains($2, $1)"),
        ("<<=", "sluice_inet_contains_or_is($2, $1)"),
        (">>", "sluice_inet_contains($1, $2)"),
        (">>=", "sluice_inet_contains_or_is($1, $2)"),
        ("&&", overlap),
    ):
        yield op(symbol, (t.INET, t.INET), t.BOOL, local=local, spark=NOTHING)


ROWS: tuple[Function, ...] = (*_functions(), *_arithmetic(), *_operators())

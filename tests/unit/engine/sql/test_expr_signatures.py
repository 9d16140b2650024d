"""The function table's signatures are PostgreSQL's, and PostgreSQL's signatures without a row take part in overload
resolution too.
"""

from __future__ import annotations

from support.syntax_names import SYNTAX

from engine.plan_ir.expr import Function
from engine.sql.functions import signatures
from engine.sql.functions.registry import Registry, registry
from wire.types import pg_types as t

#: Of the extensions that a member has from the beginning.
EXTENSIONS = ("pg_stat_statements_reset",)


def _key(row: Function) -> tuple[bool, str, tuple[t.PgType, ...], bool]:
    return row.kind == "operator", row.name, row.args, row.variadic


def test_every_row_is_postgresqls() -> None:
    theirs = {_key(row): row for row in signatures.missing_signatures(())}
    strange = []
    for row in registry().rows:
        if row.kind == "cast" or row.name in SYNTAX or row.name in EXTENSIONS:
            continue
        original = theirs.get(_key(row))
        same = original is not None and (original.returns, original.kind) == (row.returns, row.kind)
        if not same or (original is not None and original.returns_set is not row.returns_set):
            strange.append(row)
    assert strange == []


def test_an_absent_signature_is_a_candidate_only() -> None:
    row = Function("||", "operator", (t.TEXT, t.TEXT), t.TEXT, local="$1 || $2", spark="$1 || $2")
    table = Registry([row], signatures.missing_signatures([row]))
    found = table.operators("||", 2)
    assert row in found
    assert not table.is_absent(row)
    (jsonb,) = [f for f in found if f.args == (t.JSONB, t.JSONB)]
    assert table.is_absent(jsonb)
    assert table.rows == (row,)


def test_a_row_replaces_the_absent_one() -> None:
    row = Function("abs", "function", (t.INT4,), t.INT4, local="abs($1)")
    assert all(f.args != (t.INT4,) for f in signatures.missing_signatures([row]) if f.name == "abs")

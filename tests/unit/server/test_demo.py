"""The demo's printing of results, and the statements that it leaves for the console to show."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console
from support.local_member import local_member

from server.cli.demo import _ALIVE_ROWS, _keep_reading, _print_whole, _table
from server.config.address import Address


def test_numbers_are_not_cut_on_a_narrow_terminal() -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=20, force_terminal=True)
    row = ("A", Decimal("56586554400.7299992843"), Decimal("0.04998529583825141"), 1478493)
    _print_whole(console, _table(("flag", "revenue", "discount", "items"), [row]))
    for value in row:
        assert str(value) in shown.getvalue()


class _Seen(Exception):
    """Ends the reading."""


def test_a_statement_goes_on_while_the_demo_serves(tmp_path: Path) -> None:
    seen: list[tuple[object, ...]] = []
    with local_member(tmp_path) as member, member.connect() as watcher:
        watcher.execute(
            "create table lineitem as select g as l_orderkey, g as l_partkey, date '1998-12-01' as l_shipdate, 'text' as l_comment "
            f"from generate_series(1, {2 * _ALIVE_ROWS}) as g"
        )

        def look(_seconds: float) -> None:
            told = watcher.execute(
                "select cursor, state, engine, rows from sluice.queries where usename = 'demo' and cursor = 'alive'"
            )
            seen.append(told.fetchone() or ())
            # It has begun anew.
            if seen.count(seen[0]) == 2:
                raise _Seen

        with pytest.raises(_Seen):
            _keep_reading(Address("127.0.0.1", member.port), look)
    assert seen[:2] == [("alive", "suspended", "local", _ALIVE_ROWS), ("alive", "suspended", "local", 2 * _ALIVE_ROWS)]

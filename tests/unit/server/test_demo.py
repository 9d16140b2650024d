"""The demo's printing of results."""

from __future__ import annotations

import io
from decimal import Decimal

from rich.console import Console

from server.cli.demo import _print_whole, _table


def test_numbers_are_not_cut_on_a_narrow_terminal() -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=20, force_terminal=True)
    row = ("A", Decimal("56586554400.7299992843"), Decimal("0.04998529583825141"), 1478493)
    _print_whole(console, _table(("flag", "revenue", "discount", "items"), [row]))
    for value in row:
        assert str(value) in shown.getvalue()

"""Parts of `sluice sql` that need no server: splitting of input, results as text, completion."""

from __future__ import annotations

import io

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from rich.console import Console

from server.shell.completion import Names, Relation
from server.shell.plans import draw_tree
from server.shell.printing import aligned_lines, expanded_lines
from server.shell.shell import _parts
from server.shell.statements import is_complete, split


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("select 1; select 2", ["select 1"], " select 2"),
        ("select ';' as a; select $x$;$x$;", ["select ';' as a", "select $x$;$x$"], ""),
        ("select 1 -- one; two\n;", ["select 1 -- one; two"], ""),
        ('select 1 as "a;b" /* ; */;', ['select 1 as "a;b" /* ; */'], ""),
        (";;select 1;;", ["select 1"], ""),
        ("select 'open;", [], "select 'open;"),
        ("-- nothing", [], ""),
        ("", [], ""),
    ],
)
def test_statements(text: str, statements: list[str], rest: str) -> None:
    found = split(text)
    assert (list(found.statements), found.rest) == (statements, rest)


def test_commands_between_statements() -> None:
    text = "select 1;\n\\x\nselect\n2; select 3;\n\\d t\n;\n  \\timing\nselect 4"
    assert list(_parts(text)) == ["select 1", "\\x", "select\n2", "select 3", "\\d t", "\\timing", "select 4"]


def test_when_enter_runs() -> None:
    for text in ("", "select 1;", "\\d t", "  ", "select 1; -- over"):
        assert is_complete(text)
    for text in ("select 1", "select ';", "select 1; select", "select $$;"):
        assert not is_complete(text)


def test_tables() -> None:
    rows = [("1", "x\ny"), ("-20", "日本")]
    assert list(aligned_lines(("n", "name"), (True, False), rows)) == [
        "  n  | name",
        "-----+------",
        "   1 | x   +",
        "     | y",
        " -20 | 日本",
        "(2 rows)",
    ]
    assert list(expanded_lines(("n", "name"), rows[:1])) == ["-[ RECORD 1 ]", "n    | 1", "name | x", "     | y"]
    assert list(expanded_lines(("n",), [])) == ["(0 rows)"]


def test_a_plan_is_drawn() -> None:
    shown = io.StringIO()
    plan = {
        "Plan": {"Node Type": "FINAL", "Plans": [{"Node Type": "TABLE READER", "Plan Rows": 1500, "Filter": "[a]"}]}
    }
    Console(file=shown, width=80).print(draw_tree({**plan, "Engine": "local"}))
    assert shown.getvalue().split("\n")[:3] == ["FINAL", "├── TABLE READER  1,500 rows expected", "│   └── Filter: [a]"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("select * from or", ["orders"]),
        ("select * from sales.", ["Items"]),
        ("select * from sa", ["sales."]),
        ('select * from sales."It', ["Items"]),
        ("select * from orders o where o.o", ["o_key", "o_total"]),
        ("select * from orders where o_t", ["o_total"]),
        ('select * from sales."Items" i where i.', ["key"]),
        ("select * from orders join cu", ["customer"]),
        ("\\pl", ["\\plan"]),
        ("\\d cust", ["customer"]),
        ("\\c m", ["m1", "m2"]),
        ("sele", ["select"]),
        ("\\connect m", ["m1", "m2"]),
        ("\\con", ["\\connect"]),
    ],
)
def test_completion(typed: str, offered: list[str]) -> None:
    names = Names()
    names.relations = (
        Relation("public", "orders", True, ("o_key", "o_total")),
        Relation("public", "customer", True, ("c_key",)),
        Relation("sales", "Items", False, ("key",)),
    )
    names.members = ("m1", "m2")
    found = [each.text for each in names.get_completions(Document(typed), CompleteEvent())]
    within = Document("select o.o_t from orders o", len("select o.o_t"))
    assert [each.text for each in names.get_completions(within, CompleteEvent())] == ["o_total"]
    assert [text.strip('"') for text in found] == offered

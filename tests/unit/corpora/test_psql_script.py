"""Scripts for psql are divided into the statements that psql would send (`corpora.psql_script`)."""

from __future__ import annotations

import pytest
from corpora.psql_script import statements


def _texts(script: str, **environment: str) -> list[str]:
    return [statement.text for statement in statements(script, environment)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("select 1; select 2;", ["select 1", "select 2"]),
        ("select ';' -- ;\n, $a$;$b$;$a$, e'\\';', \"a;b\";", ["select ';'  \n, $a$;$b$;$a$, e'\\';', \"a;b\""]),
        ("/* ; */ select 1;;", ["select 1"]),
        (
            "create rule r as on insert to t do (select 1; select 2);",
            ["create rule r as on insert to t do (select 1; select 2)"],
        ),
        (
            "create function f() returns int begin atomic select 1; select 2; end; select 3;",
            ["create function f() returns int begin atomic select 1; select 2; end", "select 3"],
        ),
        ("select 1 as a \\gset\nselect :a;", ["select 1 as a", "select :a"]),
        (
            "\\set n 'x'\n\\set m :n /y\nselect :'m', :\"n\", :n, a::int, '{1}'::int[];",
            ["select 'x/y', \"x\", x, a::int, '{1}'::int[]"],
        ),
        ("\\d t\nselect 1;", ["select 1"]),
    ],
)
def test_statements(script: str, expected: list[str]) -> None:
    assert _texts(script) == expected


def test_a_variable_of_the_environment() -> None:
    assert _texts("\\getenv d D\n\\set f :d '/a.data'\ncopy t from :'f';", D="/data") == ["copy t from '/data/a.data'"]


def test_data_of_copy() -> None:
    [copy, after] = statements("\n-- first\ncopy t (a, b)\n  from stdin;\n1\t;\n2\tb\n\\.\nselect 1;", {})
    assert (copy.text, copy.line, copy.data) == ("copy t (a, b)\n  from stdin", 3, b"1\t;\n2\tb\n")
    assert (after.text, after.line, after.data) == ("select 1", 8, None)

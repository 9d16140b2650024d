"""PostgreSQL's regular expressions: parsed, translated for other engines, and classified by whether the first match is
the longest.
"""

from __future__ import annotations

import pytest

from engine.common.interrupts import StatementWork, check_for_interrupts, work_scope
from engine.sql.functions.replacement import replacement_parts
from engine.sql.regex.agreement import longest_first, prefers_short, same_groups, same_span
from engine.sql.regex.render import render, render_test
from wire.errors import FeatureNotSupported, InvalidParameterValue, InvalidRegularExpression, QueryCanceled
from wire.regex.grammar import Options, Pattern, read, read_options


def _read(pattern: str, options: str = "") -> Pattern:
    return read(pattern, read_options(options))


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "parentheses () not balanced"),
        ("a)", "parentheses () not balanced"),
        ("[a", "brackets [] not balanced"),
        ("a{1", "braces {} not balanced"),
        ("*a", "quantifier operand invalid"),
        ("a**", "quantifier operand invalid"),
        ("^*", "quantifier operand invalid"),
        ("a{2,1}", "invalid repetition count(s)"),
        ("a{256}", "invalid repetition count(s)"),
        ("[b-a]", "invalid character range"),
        ("[[:nope:]]", "invalid character class"),
        ("\\", "invalid escape \\ sequence"),
        ("\\q", "invalid escape \\ sequence"),
        ("\\1(a)", "invalid backreference number"),
    ],
)
def test_error(pattern: str, words: str) -> None:
    with pytest.raises(InvalidRegularExpression) as caught:
        _read(pattern)
    assert caught.value.message == f"invalid regular expression: {words}"
    assert caught.value.sqlstate == "2201B"


@pytest.mark.parametrize("options", ["", "q"])
def test_a_pattern_that_is_too_large_is_refused(options: str) -> None:
    _read("ab" * 20_000, options)
    with pytest.raises(InvalidRegularExpression, match="regular expression is too complex"):
        _read("ab" * 80_000, options)


def test_reading_and_rendering_a_pattern_can_be_interrupted() -> None:
    work = StatementWork()
    work.interrupted = True
    pattern = _read("a|b")
    with work_scope(work):
        with pytest.raises(QueryCanceled):
            read("a|b", read_options(""), check_for_interrupts)
        with pytest.raises(QueryCanceled):
            render(pattern, "re2")


def test_unknown_option() -> None:
    with pytest.raises(InvalidParameterValue, match='invalid regular expression option: "z"'):
        read_options("z")


@pytest.mark.parametrize(
    ("pattern", "re2"),
    [
        ("a.c", r"a[\x{0}-\x{10ffff}]c"),
        ("^a$", r"\Aa\z"),
        (r"\d+", "[0-9]+"),
        ("[^a]", "[^a]"),
        ("a{2,}?", "a{2,}?"),
        ("(a|b)*", "(a|b)*"),
        ("a{", r"a\x{7b}"),
        ("***=a.c", r"a\x{2e}c"),
        ("(?x) a # b", "a"),
        (r"\u0041", "A"),
        ("[]a]", r"[\x{5d}a]"),
    ],
)
def test_written_for_re2(pattern: str, re2: str) -> None:
    assert render(_read(pattern), "re2") == re2


def test_case_is_said_by_both_letters() -> None:
    assert render(_read("aé", "i"), "java") == "[aA][\\x{e9}\\x{c9}]"


@pytest.mark.parametrize("pattern", ["a(?=b)", "(a)\\1", "\\ya"])
def test_what_re2_lacks(pattern: str) -> None:
    with pytest.raises(FeatureNotSupported):
        render(_read(pattern), "re2")
    assert render(_read(pattern), "java")


def test_a_boundary_at_an_end_is_asked_of_the_neighbour() -> None:
    assert render_test(_read(r"\yfoo\y"), "re2").startswith("(?:\\A|[^")


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        ("abc", True),
        ("[0-9]+", True),
        ("^([^@]+)@(.+)$", True),
        ("(a|b)*c", True),
        (r"^\s+|\s+$", True),
        ("a.*b", True),
        ("^(.*?):(.*)$", True),
        ("<.+?>", True),
        ("foo|foobar", False),
        ("a*(ab)?", False),
        ("(a|ab)(c|bcd)", True),
        ("(ab|a)(c|bcd)?", False),
        ("Y*?[0-9]{1,3}", False),
        ("(a*)*", False),
    ],
)
def test_first_is_longest(pattern: str, same: bool) -> None:
    assert same_span(_read(pattern).tree) is same


def test_alternatives_of_fixed_length_may_be_moved() -> None:
    tree = longest_first(_read("foo|foobar").tree)
    assert same_span(tree)
    assert render(Pattern(tree, 0, Options()), "re2") == "foobar|foo"


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        ("(a+)(b+)", True),
        ("^(.*?)-(.*)$", True),
        (r"(\d+)-(\d+)", True),
        ("(a|ab)(c|bcd)", False),
        ("(?:(a)|b)*", False),
        ("((a|b)+)(a*)", True),
    ],
)
def test_groups_agree(pattern: str, same: bool) -> None:
    assert same_groups(_read(pattern).tree) is same


@pytest.mark.parametrize(
    ("pattern", "short"), [("a+?", True), ("a+", False), ("ab", None), ("a{2}b+?", True), ("a|b+?", False)]
)
def test_preference(pattern: str, short: bool | None) -> None:
    assert prefers_short(_read(pattern).tree) is short


@pytest.mark.parametrize(
    ("replacement", "parts"),
    [
        ("x", ["x"]),
        (r"[\&]", ["[", 0, "]"]),
        (r"\2\1", [2, 1]),
        (r"a\\1", ["a\\1"]),
        ("a\\", ["a\\"]),
        (r"\x", [r"\x"]),
        (r"\15", [1, "5"]),
    ],
)
def test_replacement(replacement: str, parts: list[str | int]) -> None:
    assert replacement_parts(replacement) == parts

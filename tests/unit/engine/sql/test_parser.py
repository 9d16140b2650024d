"""Query strings parsed to statements and trees: splitting, names, constants, precedence, positions.
`tests/differential/test_grammar_like_postgres.py` compares which texts are accepted and refused with PostgreSQL.
"""

from __future__ import annotations

import pytest
from sqlglot import exp

from engine.sql.parser.lexical.positions import position
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from wire.errors import CharacterNotInRepertoire, FeatureNotSupported, SqlSyntaxError, StatementTooComplex


def tree(sql: str) -> exp.Expression:
    (query,) = parse(sql)
    assert isinstance(query, Query)
    return query.tree


def expression(sql: str) -> exp.Expression:
    item = tree(f"select {sql}").expressions[0]
    assert isinstance(item, exp.Expression)
    return item


def test_statements_are_split_with_text_and_offset() -> None:
    first, second = parse(" select 1 ; -- remark\n ; select ';' ")
    assert (first.text, first.offset) == ("select 1", 1)
    assert (second.text, second.offset) == ("select ';'", 25)


def test_nothing_but_space_comments_and_semicolons() -> None:
    assert parse(" ; -- a\n /* b /* nested */ */ ;;") == ()


def test_positions_count_from_the_statements_own_beginning() -> None:
    _, query = parse("select 1; select  nosuch")
    assert isinstance(query, Query)
    assert position(query.tree.expressions[0]) == 8


def test_a_syntax_error_anywhere_counts_from_the_string_s_beginning() -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse("select 1; selec 2")
    assert (caught.value.message, caught.value.position) == ('syntax error at or near "selec"', 11)


def test_end_of_input() -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse("select 1 +")
    assert (caught.value.message, caught.value.position) == ("syntax error at end of input", 11)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Foo", "foo"),
        ('"Foo"', "Foo"),
        ('"a""b"', 'a"b'),
        ("Ärger", "Ärger"),
        ('U&"d\\0061t\\+000061"', "data"),
        ("a$1", "a$1"),
    ],
)
def test_names_fold_unless_quoted(written: str, name: str) -> None:
    assert expression(written).name == name


def test_long_names_are_cut_with_a_notice() -> None:
    notices: list[str] = []
    (query,) = parse(f"select {'a' * 62}é", notices.append)
    assert isinstance(query, Query)
    assert query.tree.expressions[0].name == "a" * 62
    assert notices == [f'identifier "{"a" * 62}é" will be truncated to "{"a" * 62}"']


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'it''s'", "it's"),
        ("'a'\n 'b'", "ab"),
        (r"E'\t\x41\101\u00e9\U0001F600\q\''", "\tAAé\U0001f600q'"),
        (r"E'\xc3\xa9'", "é"),
        (r"E'\ud83d\ude00'", "\U0001f600"),
        (r"U&'\0041\\'", "A\\"),
        ("U&'!0041' UESCAPE '!'", "A"),
        ("$$a'b$$", "a'b"),
        ("$x$a$$b$x$", "a$$b"),
        (r"'\n'", r"\n"),
    ],
)
def test_strings(written: str, value: str) -> None:
    literal = expression(written)
    assert isinstance(literal, exp.Literal)
    assert literal.is_string
    assert literal.this == value


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(CharacterNotInRepertoire, match="0xff"):
        parse(r"select E'\xff'")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a = b is null", "(a = b) is null"),
        ("not a = b", "not (a = b)"),
        ("a or b and c", "a or (b and c)"),
        ("-a::int", "-(a::int)"),
        ("-2 ^ 2", "(-2) ^ 2"),
        ("a || b + c", "a || (b + c)"),
        ("a -> b || c = d", "((a -> b) || c) = d"),
        ("a + b * c ^ d", "a + (b * (c ^ d))"),
        ("a - b - c", "(a - b) - c"),
        ("a between b and c and d", "(a between b and c) and d"),
        ("a < b = true", None),
        ("a at time zone b at time zone c", "(a at time zone b) at time zone c"),
        ("not a in (1) or b", "(not (a in (1))) or b"),
        ("@ a + b", "@ (a + b)"),
        ("a like b || c", "a like (b || c)"),
        ("a operator(pg_catalog.+) b * c", "a operator(pg_catalog.+) (b * c)"),
    ],
)
def test_precedence(written: str, meant: str | None) -> None:
    if meant is None:
        with pytest.raises(SqlSyntaxError):
            expression(written)
    else:
        assert expression(written) == expression(meant)


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("a + b", 2),
        ("f(a)", 0),
        ("a::int", 1),
        ("cast(a as int)", 0),
        ("x.y", 0),
        ("a in (1)", 2),
        ("a is null", 2),
        ("(select 1)", 0),
        ("case when a then b end", 0),
        ("$1", 0),
        ("a not like b", 2),
        ("count(*) over (order by a)", 14),
    ],
)
def test_nodes_stand_at_the_token_that_postgresql_points_at(written: str, at: int) -> None:
    assert position(expression(written)) == len("select ") + at


def test_subscripts_stay_as_written() -> None:
    bracket = expression("a[1][2:3]")
    assert isinstance(bracket, exp.Bracket)
    (bounds,) = bracket.expressions
    assert (bounds.this.name, bounds.expression.name) == ("2", "3")
    assert bracket.this.expressions[0].name == "1"


@pytest.mark.parametrize(
    ("form", "call"),
    [
        ("substring(a from b for c)", "substring(a, b, c)"),
        ("substring(a for c)", "substring(a, 1, c)"),
        ("position(a in b)", 'pg_catalog."position"(b, a)'),
        ("trim(leading a from b)", "ltrim(b, a)"),
        ("trim(b)", "btrim(b)"),
        ("overlay(a placing b from c)", "overlay(a, b, c)"),
    ],
)
def test_functions_in_disguise_are_calls(form: str, call: str) -> None:
    want, got = expression(call), expression(form)
    assert got.this == want.this
    assert got.expressions == want.expressions


def test_a_join_without_condition_waits_for_its_own() -> None:
    (join,) = tree("select from a join b join c on x on y").args["from_"].expressions
    assert join.args["left"].name == "a"
    assert join.this.args["left"].name == "b"


def test_clauses_of_a_query_in_parentheses_are_its_own() -> None:
    union = tree("(select 1 order by 1) union select 2 limit 3")
    assert union.args.get("order") is None
    assert union.this.args["order"] is not None
    assert union.args["limit"] is not None


def test_select_without_columns() -> None:
    assert tree("select from t").expressions == []


@pytest.mark.parametrize("inner", ["1", "select 1"])
def test_absurd_nesting_is_54001(inner: str) -> None:
    with pytest.raises(StatementTooComplex):
        parse("select " + "(" * 20000 + inner + ")" * 20000)


def test_deep_but_honest_nesting_is_read() -> None:
    assert parse("select " + "(" * 500 + "1" + ")" * 500)
    assert parse("select " + " or ".join(f"a = {i}" for i in range(3000)))


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("copy t from program 'cat'", "COPY with a program"),
        ("copy (delete from t returning a) to stdout", "COPY of a statement that changes rows"),
        ("create table t (a int, exclude (a with =))", "EXCLUDE"),
        ("create index i on t using gist (a gist_trgm_ops (siglen = 32))", "parameters of an operator class"),
        ("do $$ begin end $$", "DO"),
        ("select 1 into unlogged t", "SELECT INTO UNLOGGED"),
    ],
)
def test_what_is_not_supported_is_named(sql: str, what: str) -> None:
    with pytest.raises(FeatureNotSupported) as caught:
        parse(sql)
    assert caught.value.message == f"not supported: {what}"

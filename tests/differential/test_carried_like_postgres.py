"""Types whose values are carried as those of other types: their input, output, receive and send functions are
PostgreSQL's. The same texts and bytes, also random ones, go to both servers, and the results are compared bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import pq
from support.local_member import local_member
from support.postgres_server import PostgresServer

from wire.types import pg_types as t

pytestmark = pytest.mark.postgres

VALUES = {
    "inet": ("10.1.2.3", "10.1.2.3/8", "10.1/16", "::1", "fe80::1/64", "::ffff:1.2.3.4", "0.0.0.0/0"),
    "cidr": ("10", "10.1", "192.168.1", "224", "224.1", "2001:db8::/32", "10.0.0.0/8"),
    "macaddr": ("08:00:2b:01:02:03", "8-0-2b-1-2-3", "0800.2b01.0203", "08002b-010203"),
    "macaddr8": ("08:00:2b:01:02:03", "08-00-2b-01-02-03-04-05", "08002b0102030405"),
    "bit(9)": ("101010101",),
    "varbit": ("", "1", "10101010", "101010101", "x1f"),
    "money": ("1.005", "-1234567.89", "(2)", "$0.01", "92233720368547758.07"),
    "point": ("1,2", "(1.50,-2e10)", "(1e20,1e-7)", "(NaN,Infinity)"),
    "lseg": ("[(1,2),(3,4)]", "1,2,3,4"),
    "box": ("(1,2),(3,4)", "(3,1),(1,3)"),
    "path": ("((1,2),(3,4))", "[(1,2),(3,4),(5,6)]", "1,2,3,4"),
    "polygon": ("((0,0),(1,1),(2,0))", "(1,2)"),
    "line": ("{1,2,3}", "[(0,0),(1,1)]", "[(1,5),(1,6)]", "[(1,5),(3,5)]"),
    "circle": ("<(1,2),3>", "((1,2),3)", "1,2,3"),
    "int4range": ("[1,5]", "(1,5)", "empty", "(,5]", "[3,)", "(,)", '["1","2"]'),
    "int8range": ("[1,9000000000]",),
    "numrange": ("[1.0,2.50)", "(,1e3]", "[-1.5,-1.5]", "(1,1]"),
    "daterange": ("[2020-01-01,2020-02-01]", "[infinity,infinity]", "(2020-01-01,2020-01-02)"),
    "tsrange": ("[2020-01-01,2020-01-01 12:00:00.5)", "(,2020-01-01]"),
    "tstzrange": ("[2020-01-01 00:00+02,)", '("2020-01-01 00:00+00","2020-01-02 00:00+00"]'),
    "int4multirange": (
        "{[1,5],[7,9)}",
        "{}",
        "{empty}",
        " { (3,5] , [1,4) } ",
        "{(,)}",
        '{["1",\\2]}',
        "{[1,2}",
        "{[1,2],}",
        "x",
    ),
    "int8multirange": ("{[1,9000000000],(,-5)}",),
    "nummultirange": ("{[1.0,2.50),[2.500,3]}", "{[1,2],[1.0,2.00]}", "{(,1e3],(1001,)}"),
    "datemultirange": ("{[2020-01-01,2020-02-01],[infinity,infinity],(2021-01-01,2021-01-02)}",),
    "tsmultirange": ("{[2020-01-01,2020-01-01 12:00:00.5),(,2019-01-01]}",),
    "tstzmultirange": ('{[2020-01-01 00:00+02,2020-01-01 00:00+00),("2021-01-01 00:00+00","2021-01-02 00:00+00"]}',),
    "jsonpath": (
        "strict $.a[*] ? (@ > 1e3)",
        "$.x + -1 * (2 - 3)",
        '$."it\\"s".keyvalue()[last]',
        "$.**{1 to last}.abs()",
        "@",
        "$.00",
        '$ like_regex "^(a|b)+[^c-e]{2,3}\\\\d" flag "smi"',
        '$ like_regex "(" flag "xq"',
        '$ like_regex "("',
        '$ like_regex "a" flag "x"',
        '$ like_regex "a" flag "g"',
        "-(-1.50) + -.0 - +2",
        "$.a ? (@ == null || @ == true).size()",
        "$[($.a - 3).abs(), ($.a == 1).type()]",
        "1 + ($.a * 2).abs()",
        "(exists ($.a)).type()",
        "exists (((($.a == 1) is unknown).type()) ? (@ == 1))",
    ),
    "tsvector": (
        "b:1A,2 a 'c d':3",
        "",
        "a:2,1,2B",
        "'it''s':16384 'x\\\\y'",
        "a:",
        "a:0",
        "ü:1 z",
        "a:00000000000000000000001",
    ),
    "tsquery": (
        "a & b",
        "a & (b & c)",
        "a:*AB <-> !(b | c)",
        "a <3> (b <-> c)",
        "'it''s' | ü",
        "a <16385> b",
        "a b",
        "(",
        "!",
    ),
    "tsvector[]": ('{"b a:1",NULL}',),
    "pg_lsn": ("0/0", "16/B374D848"),
    "xid": ("0", "4294967295"),
    "xid8": ("123456789012",),
    "cid": ("5",),
    "tid": ("(1,2)", "(4294967295,65535)"),
    "refcursor": ("any text",),
    "xml": ("<a>x</a>", "text"),
    "inet[]": ("{10.0.0.1,NULL,::1}",),
    "int4range[]": ('{"[1,2]",empty,NULL}',),
    "nummultirange[]": ('{"{[1,2],[3.0,4)}","{}",NULL}',),
    "point[]": ('{"(1,2)","(3,4)"}',),
}


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[tuple[psycopg.Connection[Any], psycopg.Connection[Any]]]:
    folder: Path = tmp_path_factory.mktemp("carried")
    with local_member(folder) as member, member.connect() as ours, psycopg.connect(postgres.dsn) as theirs:
        theirs.autocommit = True
        for connection in (ours, theirs):
            connection.execute("set timezone = 'America/New_York'")
        yield ours, theirs


def _said(connection: psycopg.Connection[Any], typ: str, value: bytes, *, form: int, out: int) -> bytes | str:
    """Return the value that comes back for a parameter, or the error's SQLSTATE and message."""
    base = typ.partition("(")[0]
    oid = t.array_of(t.BY_NAME[base[:-2]]).oid if base.endswith("[]") else t.BY_NAME[base].oid
    result = connection.pgconn.exec_params(f"select $1::{base}".encode(), [value], [oid], [form], out)
    if result.status != pq.ExecStatus.TUPLES_OK:
        field = pq.DiagnosticField
        if base == "jsonpath":  # where a syntax error is said to be differs
            return repr(result.error_field(field.SQLSTATE))
        return f"{result.error_field(field.SQLSTATE)!r} {result.error_field(field.MESSAGE_PRIMARY)!r}"
    found = result.get_value(0, 0)
    assert found is not None
    return found


def _same(pair: tuple[psycopg.Connection[Any], psycopg.Connection[Any]], typ: str, text: str) -> None:
    ours, theirs = pair
    for out in (0, 1):
        expected = _said(theirs, typ, text.encode(), form=0, out=out)
        assert _said(ours, typ, text.encode(), form=0, out=out) == expected, (typ, text)
    if isinstance(expected, bytes):
        for out in (0, 1):
            again = _said(theirs, typ, expected, form=1, out=out)
            assert _said(ours, typ, expected, form=1, out=out) == again, (typ, text, expected)


@pytest.mark.parametrize("typ", VALUES)
def test_values(pair: tuple[psycopg.Connection[Any], psycopg.Connection[Any]], typ: str) -> None:
    for text in VALUES[typ]:
        _same(pair, typ, text)


_OCTET = st.integers(0, 260).map(str)
_TEXTS = st.one_of(
    st.tuples(st.sampled_from(("inet", "cidr")), st.builds(
        lambda parts, mask: ".".join(parts) + mask,
        st.lists(_OCTET, min_size=1, max_size=5), st.sampled_from(("", "/8", "/16", "/24", "/32", "/33", "/")),
    )),
    st.tuples(st.sampled_from(("macaddr", "macaddr8")), st.builds(
        lambda parts, by: by.join(parts), st.lists(st.from_regex(r"\A[0-9a-fA-F]{2}\Z"), min_size=5, max_size=8),
        st.sampled_from((":", "-", "", ".")),
    )),
    st.tuples(st.sampled_from(("int4range", "numrange")), st.builds(
        lambda left, low, high, right: f"{left}{low},{high}{right}",
        st.sampled_from("[("), st.one_of(st.integers(-9, 9), st.just("")), st.one_of(st.integers(-9, 9), st.just("")),
        st.sampled_from("])"),
    )),
    st.tuples(st.sampled_from(("int4multirange", "nummultirange")), st.lists(st.builds(
        lambda left, low, more, right: f"{left}{low},{low + more}{right}",
        st.sampled_from("[("), st.integers(-9, 9), st.integers(-1, 4), st.sampled_from("])"),
    ), max_size=6).map(lambda ranges: "{" + ",".join(ranges) + "}")),
    st.tuples(st.just("int4multirange"), st.text("{}[](),12 \"\\", max_size=12)),
    st.tuples(st.just("jsonpath"), st.recursive(
        st.sampled_from(("$", "1.50", '"a\\n"', "$v", "null", "-2")),
        lambda under: st.one_of(
            st.builds("({})".format, under), st.builds("-{}".format, under), st.builds("!({})".format, under),
            st.builds("{}.{}".format, under, st.sampled_from(("key", "abs()", "*", "**{2 to last}", "datetime()", "is", '"a b"'))),
            st.builds("{}[{} to last, *]".format, under, under), st.builds("{}[{}, last]".format, under, under),
            st.builds("{} {} {}".format, under, st.sampled_from(("+", "-", "*", "==", "<>", "&&", "||", "starts with")), under),
            st.builds("{}?(@.x > {})".format, under, under), st.builds("exists ({})".format, under),
        ), max_leaves=8,
    )),
    st.tuples(st.just("tsvector"), st.text("ab' \\:1,2A*d", max_size=14)),
    st.tuples(st.just("tsquery"), st.text("ab' \\:*A&|!()<->2", min_size=1, max_size=14).filter(str.strip)),
    st.tuples(st.just("tsquery"), st.recursive(st.sampled_from(("a", "b:A", "'c d'", "e:*")), lambda under: st.one_of(
        st.builds("({})".format, under), st.builds("!{}".format, under),
        st.builds("{} {} {}".format, under, st.sampled_from(("&", "|", "<->", "<2>")), under),
    ), max_leaves=8)),
    st.tuples(st.just("varbit"), st.text("01", max_size=20)),
    st.tuples(st.just("point"), st.builds(
        "({!r},{!r})".format, st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e16, 1e16)
    )),
    st.tuples(st.just("money"), st.decimals(-10**9, 10**9, places=3).map(str)),
    st.tuples(st.sampled_from(("inet", "macaddr", "int4range", "point", "varbit", "box")), st.text("[]()1.,:/ \"e", max_size=8)),
)  # fmt: skip


@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(_TEXTS)
def test_values_by_chance(
    pair: tuple[psycopg.Connection[Any], psycopg.Connection[Any]], given_value: tuple[str, str]
) -> None:
    _same(pair, *given_value)

"""COPY with psycopg against PostgreSQL 15: the same statements with the same bytes give the same results and messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(Path(tmp_path_factory.mktemp("copy"))) as running:
        yield running


@dataclass(frozen=True)
class Told:
    """The result of one COPY. error: SQLSTATE, message, detail, hint, context, position."""

    tag: str | None = None
    sent: tuple[bytes, ...] = ()
    error: tuple[str | None, ...] | None = None


def copied_in(connection: Connection, statement: str, *pieces: bytes) -> Told:
    try:
        with connection.cursor() as cursor:
            with cursor.copy(statement.encode()) as copy:
                for piece in pieces:
                    copy.write(piece)
            return Told(cursor.statusmessage)
    except psycopg.Error as error:
        return Told(error=_fields(error))


def copied_out(connection: Connection, statement: str) -> Told:
    try:
        with connection.cursor() as cursor:
            with cursor.copy(statement.encode()) as copy:
                sent = tuple(bytes(piece) for piece in copy)
            return Told(cursor.statusmessage, sent)
    except psycopg.Error as error:
        return Told(error=_fields(error))


def _fields(error: psycopg.Error) -> tuple[str | None, ...]:
    told = error.diag
    return (
        told.sqlstate, told.message_primary, told.message_detail, told.message_hint, told.context, told.statement_position
    )  # fmt: skip


TABLE = "create table t (a int, b varchar(5), c numeric(6,2), d date, e text default 'none', check (a < 100))"
_CSV = "(format csv)"

INPUTS: list[tuple[str, bytes]] = [
    ("copy t from stdin", b"1\tx\t1.5\t2020-01-02\thello\n2\t\\N\t\\N\t\\N\t\\N\n"),
    ("copy t (a, b) from stdin", b"1\tx\n2\ty"),
    ("copy t (e, a) from stdin", b"a\\tb\\nc\\\\d\\x41\\101\\q\t1\n\\\n\t2\n"),
    ("copy t (a) from stdin", b"1\r\n2\r\n"),
    ("copy t (a) from stdin", b"1\r2\r"),
    ("copy t (a) from stdin", b"1\n2\r\n3\n"),
    ("copy t (a) from stdin", b"1\r\n2\n3\r\n"),
    ("copy t (a) from stdin", b"1\n\\.\nnothing of this\n"),
    ("copy t (a, e) from stdin", b"1\n"),
    ("copy t (a, e) from stdin", b"x\n"),
    ("copy t (a, e) from stdin", b"1\tx\n\n"),
    ("copy t (e, a) from stdin", b"x\n"),
    ("copy t (a, d, e) from stdin", b"1\t2020-01-02\tx\n2\t2020-02-30\n"),
    ("copy t (a, d, e) from stdin", b"1\t2020-01-02\tx\nq\t2020-02-20\n"),
    ("copy t (a, b, e) from stdin (format csv)", b'1,x,y\n2,"xx, xxx"\n'),
    ("copy t (a, e) from stdin", b"1\tx\n2\ty\tz\n"),
    ("copy t (a, e) from stdin", b"1\tx\nq\ty\n"),
    ("copy t (e, a) from stdin", b"1\t1\nq\t\n"),
    ("copy t (a, b) from stdin", b"1\txxxxx\n2\txxxxxx\n"),
    ("copy t (a, b) from stdin", b"1\txxxxx\n2\txxxxx   \n"),
    ("copy t (a, c) from stdin", b"1\t1234.567\n2\t12345.6\n"),
    ("copy t (a, d) from stdin", b"1\t2020-02-29\n2\t2021-02-29\n"),
    ("copy t (a, e) from stdin", b"1\tx\n100\ty\n"),
    ("copy t (a, e) from stdin", b"1\tx\n100\ty\nx\tz\n"),
    ("copy t (a, e) from stdin", b"1\tx\nx\tz\n100\ty\n"),
    ("copy t (a, e) from stdin", b"99999999999\tx\n"),
    ("copy t (a, e) from stdin", b"1\t\xff\n"),
    ("copy t (a, e) from stdin", b"1\t\\xff\n"),
    ("copy t (a, e) from stdin", b"1\tx\n2\tx\\.y\n3\tz\n"),
    ("copy t (a, e) from stdin", b"1\tx\\\\.\n2\t\\\\\n"),
    ("copy t (a, e) from stdin", b""),
    ("copy t (a, e) from stdin (delimiter '|', null 'nil')", b"1|nil\n2|a\\|b\n3|\\nil\n"),
    ("copy t (a, e) from stdin delimiters ',' with null as ''", b"1,\n2,x\n"),
    ("copy t (a, e) from stdin with delimiter ',' null 'x'", b"1,x\n2,y\n"),
    (f"copy t (a, e) from stdin {_CSV}", b'1,x\n2,"y, ""z""\nnext"\n3,\n4,""\n5,"a"b"c"\n'),
    (f"copy t (a, e) from stdin {_CSV}", b'1,x\n2,"y'),
    (f"copy t (a, e) from stdin {_CSV}", b'1,"x\n\n"\ny,"y"\n'),
    (f"copy t (a, e) from stdin {_CSV}", b"1,x\n2,y\r\n"),
    (f"copy t (a, e) from stdin {_CSV}", b"1,x\r\n2,y\n"),
    (f"copy t (a, e) from stdin {_CSV}", b"1,x\n\n"),
    (f"copy t (a, e) from stdin {_CSV}", b"1,x\n\\.\n2,y\n"),
    ("copy t (a, e) from stdin (format csv, escape '\\', quote '|')", b"1,|a\\|b\\\\c\\d|\n2,a\\b|,|\n"),
    ("copy t (a, e) from stdin (format csv, header)", b"1,x\n2,y\n"),
    ("copy t (a, e) from stdin (format csv, header match)", b"a,e\n2,y\n"),
    ("copy t (a, e) from stdin (format csv, header match)", b"a,f\n2,y\n"),
    ("copy t (a, e) from stdin (format csv, header match)", b"a\n2,y\n"),
    ("copy t (a, e) from stdin (format csv, header)", b"a\0,e\n1,x\n"),
    ("copy t (a, e) from stdin (format csv, header match)", b"a\0,e\n1,x\n"),
    ("copy t (e) from stdin", b"x\n\\"),
    ("copy t (e) from stdin (format csv)", b'x\n"\r\n"'),
    ("copy t (e) from stdin (format csv)", b'x\r\n"\n"'),
    ("copy t (e) from stdin (format csv)", b"x\r\\.\r"),
    ("copy t (e) from stdin", b"x\r\\.\r"),
    ("copy t (e) from stdin", b"x\ra\\.\r"),
    ("copy t (e) from stdin", b"x\na\\.\nb\n"),
    ("copy t (e) from stdin", b"x\r\na\\.\r\n"),
    ("copy t (e) from stdin", b"x\r\na\\.\n"),
    ("copy t (e) from stdin", b"x\r\n\\.\r\r"),
    ("copy t (e) from stdin", b"x\n\\.\r\n"),
    ("copy t (e) from stdin", b"x\n\\."),
    ("copy t (a, e) from stdin", b"1\tx\n2\\.\n"),
    ("copy t (e) from stdin (format csv)", b"x\na\\.\n\\.\n"),
    ("copy t (e) from stdin (format csv)", b"x\n\\.\r\n"),
    ("copy t (e) from stdin (format csv)", b"x\r\n\\.\n\r\n"),
    ("copy t (e) from stdin (format csv)", b"x\n\\."),
    ("copy t (e) from stdin", b"\\"),
    ("copy t (e) from stdin", b"x\\\n\n\\"),
    ("copy t (a, e) from stdin (header true)", b"x\ty\n2\tz\n"),
    ("copy t (a, e) from stdin (format csv, null 'nil', force_not_null (e))", b'1,nil\n2,"nil"\n'),
    ("copy t (a, e) from stdin (format csv, null 'nil', force_null (e))", b'1,nil\n2,"nil"\n'),
    ("copy t (a, e) from stdin (format csv, null 'nil', force_null (e), force_not_null (e))", b'1,nil\n2,"nil"\n3,x\n'),
    ("copy t (a, e) from stdin (format csv, force_null (e), force_not_null (e))", b'1,\n2,""\n3,"a""b"\n'),
    ("copy t (a, e) from stdin with null as e'\\\\0'", b"1\t\\\\0\n\\0\t\\0\n3\ta\\tb\n"),
    ("copy t (a, e) from stdin with null as e'\\\\0'", b"1\tx\\0\n"),
    ("copy t (a, e) from stdin csv header quote as '|' force not null e", b"a,e\n1,\n2,|x|\n"),
    ("copy t (a, e) from stdin (format csv, encoding 'latin1')", b"1,\xe9\n"),
    ("copy t (e) from stdin", b"\\"),
    ("copy t (a, e) from stdin where a > 1", b"1\tx\n2\ty\n3\t\\N\n"),
    ("copy t (a) from stdin where e = 'none' and a <> 2", b"1\n2\n3\n"),
    ("copy t (a) from stdin where a > 1", b"1\n200\n"),
    ("copy t (a, e) from stdin where a > 1", b"1\tx\n2\ty\nz\tz\n"),
    ("copy t (a) from stdin where 1 / (a - 2) = 1", b"3\n2\n"),
    ("copy t from stdin where zz", b""),
    ("copy t from stdin where a", b""),
    ("copy t from stdin where a = (select 1)", b""),
    ("copy t from stdin where max(a) = 1", b""),
    ("copy t (a, d) from stdin", b"1\tJan 5, 2020\n2\t5/6/2021\n3\t\\N\n4\t20200203\n"),
    ("copy t (a, d) from stdin", b"1\tJan 5, 2020\n2\tJan 35, 2021\n3\t\\N\n"),
    ("copy t (a, d) from stdin", b"1\tJan 5, 2020\nx\tJan 35, 2021\n3\t\\N\n"),
    ("copy t (a, c) from stdin", b"1\t1e3\n +2 \t  12.345  \n3\t-.5\n"),
    ("copy t (a, zz) from stdin", b""),
    ("copy t (a, a) from stdin", b""),
    ("copy nowhere from stdin", b""),
    ("copy t from stdin (format nothing)", b""),
    ("copy t from stdin (form csv)", b""),
    ("copy t from stdin (format csv, format csv)", b""),
    ("copy t from stdin (delimiter 'ab')", b""),
    ("copy t from stdin (delimiter 'a')", b""),
    ("copy t from stdin (quote 'a')", b""),
    ("copy t from stdin (format csv, quote ',')", b""),
    ("copy t from stdin (format csv, force_quote (a))", b""),
    ("copy t from stdin (force_null (a))", b""),
    ("copy t (a) from stdin (format csv, force_null (b))", b""),
    ("copy t from stdin (encoding 'klingon')", b""),
    ("copy t from stdin (header 3)", b""),
    ("copy t from stdin (null E'\\n')", b""),
    ("copy t from stdin csv null '\"'", b""),
    ("copy v from stdin", b""),
]


@pytest.mark.table
@pytest.mark.parametrize(("statement", "data"), INPUTS)
@pytest.mark.parametrize("size", [3, 1 << 20])
def test_copy_from(sluice: LocalMember, postgres: PostgresServer, statement: str, data: bytes, size: int) -> None:
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn) as connection:
            connection.execute(TABLE)
            connection.execute("create view v as select * from t")
            connection.commit()
            try:
                told = copied_in(connection, statement, *pieces)
                connection.commit()
                found.append((told, connection.execute("select * from t order by a, e").fetchall()))
                connection.commit()
            finally:
                connection.rollback()
                connection.execute("drop table t cascade")
                connection.commit()
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(4))
def test_ends_of_data_anywhere(seed: int, sluice: LocalMember, postgres: PostgresServer) -> None:
    r"""`\.` beside line ends of every style, at the end of the data and in its middle, and cut in two."""
    random = Random(seed)
    pieces = ("x", "a", "\\", ".", "\\.", "\r", "\n", "\r\n", "\t")
    inputs = ["".join(random.choices(pieces, k=random.randint(1, 6))).encode() for _ in range(40)]
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table ended (a text)")
            try:
                copy = f"copy ended from stdin {_CSV if seed % 2 else ''}"
                told = [copied_in(connection, copy, data[: len(data) // 2], data[len(data) // 2 :]) for data in inputs]
                found.append((list(zip(inputs, told, strict=True)), connection.execute("table ended").fetchall()))
            finally:
                connection.execute("drop table ended")
    assert found[0] == found[1]


KEYS = [
    ("copy k from stdin", b"1\tx\n2\ty\n3\tz\n2\tw\n1\tv\n"),
    ("copy k from stdin", b"1\tx\n2\ty\n10\tz\n2\tw\n"),
    ("copy k from stdin", b"1\tx\n2\tx\n1\tz\n"),
    ("copy k from stdin", b"1\tx\n2\tthere\n10\tthere\n"),
    ("copy k from stdin", b"1\t\\N\n2\t\\N\n10\tz\n"),
    ("copy k from stdin (format csv)", b'1,"x\n\n"\n2,y\n2,"z\n"\n'),
    ("copy k from stdin (format csv, header)", b"a,b\n1,x\n2,y\n10,z\n"),
    ("copy k from stdin where a <> 3 and b <> 'out'", b"3\tx\n2\tout\n10\tx\n3\ty\n"),
    ("copy k (b, a) from stdin", b"x\t1\ny\t1\n"),
]


@pytest.mark.parametrize(("statement", "data"), KEYS)
def test_a_key_that_is_there_twice(sluice: LocalMember, postgres: PostgresServer, statement: str, data: bytes) -> None:
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table k (a int primary key, b text unique)")
            connection.execute("insert into k values (10, 'there')")
            try:
                told = copied_in(connection, statement, data)
                found.append((told, connection.execute("select * from k order by a").fetchall()))
            finally:
                connection.execute("drop table k")
    assert found[0] == found[1]


@pytest.mark.parametrize("columns", ["", "(a)", "(a, b)", "(b)"])
def test_generated_columns_are_not_copied(sluice: LocalMember, postgres: PostgresServer, columns: str) -> None:
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table g (a int, b int generated always as (a * 2) stored check (b < 9))")
            try:
                told = [copied_in(connection, f"copy g {columns} from stdin", data) for data in (b"1\n2\n", b"3\n5\n")]
                rows = connection.execute("select * from g order by a").fetchall()
                found.append((told, rows, copied_out(connection, f"copy g {columns} to stdout")))
            finally:
                connection.execute("drop table g")
    assert found[0] == found[1]


@pytest.mark.parametrize("options", ["", "(format csv)", "(format csv, header)", "(format text, header)"])
def test_a_table_without_columns(options: str, sluice: LocalMember, postgres: PostgresServer) -> None:
    """An empty line is a row; any other line has data after the last column."""
    lines = (b"", b"\n", b"\n\n\\.\nx\n", b"\r\n\r\n", b"\n\nx\n", b"\n \n", b"\\N\n", b'""\n', b",\n", b"\n" * 5000)
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table g (check (random() < 2))")
            try:
                told = [copied_in(connection, f"copy g from stdin {options}", data) for data in lines]
                told.append(copied_in(connection, "copy g from stdin where random() < 2", b"\n\n"))
                told.append(copied_in(connection, "copy g from stdin where false", b"\n\n"))
                [sent, binary] = [
                    copied_out(connection, f"copy g to stdout {form}") for form in (options, "(format binary)")
                ]
                told.append(copied_in(connection, "copy g from stdin (format binary)", *binary.sent))
                rows = connection.execute("select count(*) from g").fetchall()
                found.append((told, rows, sent.tag, b"".join(sent.sent), b"".join(binary.sent)))
            finally:
                connection.execute("drop table g")
    assert found[0] == found[1]


def test_freeze(sluice: LocalMember, postgres: PostgresServer) -> None:
    """Only into a table that the transaction has made or emptied, as pgbench does."""
    found: list[list[Told]] = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table frozen (a int)")
            try:
                connection.execute("insert into frozen values (1)")
                told = [copied_in(connection, "copy frozen from stdin with (freeze on)", b"2\n")]
                with connection.transaction():
                    connection.execute("truncate frozen")
                    told.append(copied_in(connection, "copy frozen from stdin with freeze", b"3\n"))
                with connection.transaction(force_rollback=True):
                    connection.execute("create table made (a int)")
                    told.append(copied_in(connection, "copy made from stdin with (format csv, freeze)", b"4\n"))
                found.append([*told, copied_out(connection, "copy frozen to stdout")])
            finally:
                connection.execute("drop table frozen")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "change",
    [
        "insert into frozen values (2)",
        "insert into frozen values (1) on conflict (a) do update set a = 3",
        "merge into frozen using (values (1), (2)) v (a) on v.a = frozen.a when matched then delete "
        "when not matched then insert values (v.a)",
        "delete from frozen",
        "update frozen set a = 2",
        "truncate frozen",
    ],
)
def test_freeze_after_a_change_of_the_table(change: str, sluice: LocalMember, postgres: PostgresServer) -> None:
    """TRUNCATE alone makes a table new, whatever other changes check."""
    found: list[list[Told]] = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table frozen (a int primary key)")
            try:
                connection.execute("insert into frozen values (1)")
                with connection.transaction(force_rollback=True):
                    connection.execute(change.encode())
                    # Without rows, Sluice cannot tell (`_require_new`).
                    connection.execute("insert into frozen values (9)")
                    told = copied_in(connection, "copy frozen from stdin with (freeze)", b"10\n")
                found.append([told])
            finally:
                connection.execute("drop table frozen")
    assert found[0] == found[1]


_SPELLED = """create table t (
    a time, b timetz(0), c timestamp(1), d timestamptz, e interval, f bool, g float4, h uuid,
    i int[], j json, k bytea, l "char", m bpchar(3)
)"""
SPELLINGS = [
    "10:11|10:11+02|2020-01-01 10:11:12.06|2020-01-01 10:11:12+05:30|1 day|t|1.5|"
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|{1,2}|{}|\\\\x01|x|ab",
    "10:11 PM|10:11 PM PST|Jan 5 2020 3 pm|2020-01-01 EST|1y2mon|YES|1e-3|{A0EEBC99-9C0B4EF8BB6D6BB9BD380A11}|[0:1]={1,2}|1|a|xy|a",
    'allballs|24:00Z|20200105T030405|epoch|P1DT2H|off|inf|A0EEBC999C0B4EF8BB6D6BB9BD380A11|{NULL,3}|"a"|\\\\001|\\101|abc',
    "25:00|||||||||||||",
    "||infinity|-infinity|||||||||",
    "||0044-03-15 10:00 BC||||||||||",
    "10:11|10:11+02",
    "||||@ 1 day ago||||||||",
    "||||1 dya||||||||",
    "|||||maybe|||||||",
    "||||||1e400||||||",
    "|||||||a0eebc99|||||",
    "||||||||{1,x}||||",
    "||||||||||\\\\x0||",
    "||||||||||||abcd",
    "||||||||||||abc  ",
]


@pytest.mark.parametrize("rows", [SPELLINGS[:1] * 3, SPELLINGS[:3], *([SPELLINGS[0], row] for row in SPELLINGS[3:])])
def test_spellings(sluice: LocalMember, postgres: PostgresServer, rows: list[str]) -> None:
    data = "".join(row + "\n" for row in rows).encode()
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(_SPELLED.encode())
            try:
                told = copied_in(connection, "copy t from stdin (delimiter '|', null '')", data)
                found.append((told, copied_out(connection, "copy t to stdout")))
            finally:
                connection.execute("drop table t")
    assert found[0] == found[1]


_BINARY = """create table t (
    a int2, b int4, c int8, d float4, e float8, f numeric(12,3), g numeric, h bool, i text, j varchar(4), k bpchar(3), l bytea,
    m date, n time, o timetz, p timestamp, q timestamptz, r interval, s uuid, t json, u jsonb, v int[], w text[]
)"""
_VALUES = """insert into t values
    (1, -2, 3, 1.5, -2.25, 123456789.125, 0, true, 'xé', 'abcd', 'ab', '\\x0001ff', '2020-02-29', '10:11:12.5', '10:11+02',
     '2020-01-01 00:00:00.000001', '1999-12-31 23:59:59+00', '1 mon 2 days 3 sec', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
     '{"a": 1}', '{"b": [1]}', '{1,null,3}', '{"",null,"x y"}'),
    (null), (-32768, 2147483647, -9223372036854775808, 'infinity', 'nan', -0.001, 12345.6789, false, '', '', '', '', '0001-01-01',
     '24:00', '00:00-12', '4714-11-24 BC', 'infinity', '-1 day', null, '1', '1', '{}', '{a,b}'),
    (0, 0, 0, 0, 0, 0, 0.00001, false, 'y', 'z', 'z', 'z', 'infinity', '00:00', '00:00+00', '-infinity', '2000-01-01', '0', null,
     null, null, null, null)"""


def test_binary_is_the_same_both_ways(sluice: LocalMember, postgres: PostgresServer) -> None:
    nulls = ", ".join(["null"] * 23)
    with psycopg.connect(sluice.dsn, autocommit=True) as ours, psycopg.connect(postgres.dsn, autocommit=True) as theirs:
        for connection in (ours, theirs):
            connection.execute(_BINARY.encode())
        try:
            theirs.execute(_VALUES.replace("(null)", f"({nulls})").encode())
            sent = b"".join(copied_out(theirs, "copy t to stdout (format binary)").sent)
            for size in (7, 1 << 20):
                pieces = [sent[i : i + size] for i in range(0, len(sent), size)]
                assert copied_in(ours, "copy t from stdin (format binary)", *pieces) == Told("COPY 4")
                told = copied_out(ours, "copy t to stdout")
                assert told == copied_out(theirs, "copy t to stdout")
                # Message by message: some clients read the signature and a row from the first.
                for asked in (
                    "copy t to stdout (format binary)",
                    "copy (select 1 where false) to stdout (format binary)",
                ):
                    assert copied_out(ours, asked).sent == copied_out(theirs, asked).sent
                ours.execute("truncate t")
        finally:
            for connection in (ours, theirs):
                connection.execute("drop table t")


_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_ROW = b"\0\2\0\0\0\4\0\0\0\1\0\0\0\1x"
_END = b"\xff\xff"
BINARY_INPUTS = [
    _HEAD + _ROW * 3 + _END,
    _HEAD + _ROW,
    _HEAD,
    b"",
    b"PGCOPY\n",
    _HEAD[:13],
    _HEAD[:17],
    _HEAD[:11] + b"\0\1\0\0\0\0\0\0" + _ROW,
    _HEAD[:11] + b"\0\2\0\0\0\0\0\0" + _ROW,
    _HEAD[:15] + b"\0\0\0\3abc" + _ROW + _END,
    _HEAD[:15] + b"\0\0\0\3ab",
    _HEAD + _ROW + b"\0\3",
    _HEAD + _ROW + _ROW[:-1],
    _HEAD + _ROW + _ROW[:9],
    _HEAD + _ROW + b"\0\2\xff\xff\xff\xfe",
    _HEAD + _ROW + _END + b"x",
    _HEAD + _ROW + b"\0\2\0\0\0\2\0\1\0\0\0\1x" + _END,
    _HEAD + _ROW + b"\0\2\0\0\0\5\0\0\0\0\1\0\0\0\1x" + _END,
    _HEAD + _ROW + b"\0\2\0\0\0\4\0\0\0\1\0\0\0\6xxxxxx" + _END,
    _HEAD + _ROW + b"\0\2\0\0\0\4\0\0\0\1\0\0\0\1\xff" + _END,
    _HEAD + _ROW + b"\0\2\0\0\0\4\0\0\0\x7f\0\0\0\1x" + _END,
]


@pytest.mark.parametrize("data", BINARY_INPUTS)
def test_binary_input(sluice: LocalMember, postgres: PostgresServer, data: bytes) -> None:
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table t (a int check (a < 100), b varchar(5))")
            try:
                told = copied_in(connection, "copy t from stdin (format binary)", data)
                found.append((told, connection.execute("select * from t").fetchall()))
            finally:
                connection.execute("drop table t")
    assert found[0] == found[1]


OUTPUTS = [
    "copy t to stdout",
    "copy t (e, a) to stdout",
    "copy t to stdout (format csv)",
    "copy t to stdout (format csv, header)",
    "copy t to stdout (header)",
    "copy t to stdout (format csv, null 'x', delimiter ';', quote '|')",
    "copy t to stdout (format csv, quote '|', escape '\\')",
    "copy t to stdout (format csv, force_quote *)",
    "copy t to stdout csv force quote a, e",
    "copy t to stdout (delimiter '|', null '')",
    "copy t to stdout (delimiter ',')",
    "copy (select e from t order by a) to stdout (format csv)",
    "copy (select 1 as \"a,b\", true, null::int, array['x y', '{', null], 'a\\b'::bytea) to stdout (format csv, header)",
    "copy (select 1, true, null::int, array['x y', '\\', null], '2020-01-01'::timestamptz, interval '1 day') to stdout",
    "copy (select '\\.') to stdout csv",
    "copy (select 'é') to stdout (encoding 'latin1')",
    "copy (select '\u20ac') to stdout (encoding 'latin1')",
    "copy (select 1 where false) to stdout",
    "copy (select) to stdout",
    "copy (select 1/0) to stdout",
    "copy (select x from generate_series(1, 3) x) to stdout",
    "copy (select nothing from t) to stdout",
    "copy (values (1, 'a'), (2, 'b')) to stdout",
    "copy (select $1) to stdout",
    "copy v to stdout",
    "copy t (zz) to stdout",
    "copy t to stdout (force_null (a))",
    "copy t to stdout (format csv, header match)",
    "copy nowhere to stdout",
    "copy (select 1) to stdout (format nothing)",
    "copy (select 1) to stdout (format csv, escape 'ab')",
]


@pytest.mark.table
@pytest.mark.parametrize("statement", OUTPUTS)
def test_copy_to(sluice: LocalMember, postgres: PostgresServer, statement: str) -> None:
    values = [
        (1, "x", 1.5, "2020-01-02", "a\tb\nc\\d\r\b\f\v,|;\"'e"),
        (2, None, None, None, None),
        (3, "", 0, None, "x"),
        (4, "\\.", 0, None, '"'),
    ]
    found = []
    for dsn in (sluice.dsn, postgres.dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(TABLE)
            connection.execute("create view v as select * from t")
            try:
                for row in values:
                    connection.execute("insert into t values (%s, %s, %s, %s, %s)", row)
                found.append(copied_out(connection, statement))
            finally:
                connection.execute("drop table t cascade")
    assert found[0] == found[1]

"""Statements other than queries, parsed into fields."""

from __future__ import annotations

from typing import Any

import pytest

from engine.sql.binder.type_names import resolve_type
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.statements import QualifiedName
from engine.sql.parser.parse import parse
from wire.errors import FeatureNotSupported, SqlError, SqlSyntaxError


def one(sql: str) -> Any:
    (statement,) = parse(sql)
    assert statement.text == sql.strip(" ;")
    return statement


@pytest.mark.parametrize(
    ("sql", "name", "value", "local"),
    [
        ("set extra_float_digits = 3", "extra_float_digits", "3", False),
        ('SET Search_Path TO "$user", public, \'A b\', "User"', "search_path", '"$user", public, "A b", "User"', False),
        ("set search_path = 'select'", "search_path", '"select"', False),
        ("set local sluice.engine = 'spark'", "sluice.engine", "spark", True),
        ("set session DateStyle to ISO, DMY", "datestyle", "iso, dmy", False),
        ("set x to default", "x", None, False),
        ("set x = -1.5", "x", "-1.5", False),
        ("set x = on", "x", "on", False),
        ("set time zone 'Europe/Paris'", "timezone", "Europe/Paris", False),
        ("set local time zone local", "timezone", None, True),
        ("set time zone -5", "timezone", "-5", False),
        ("set time zone interval '-08:00' hour to minute", "timezone", "INTERVAL '-08:00'", False),
        ("set names 'latin1'", "client_encoding", "latin1", False),
        ("set schema 'Abc'", "search_path", '"Abc"', False),
        ("set session authorization default", "session_authorization", None, False),
        ("set role none", "role", "none", False),
        ("set transaction isolation level repeatable read", "transaction_isolation", "repeatable read", True),
        ("set transaction read only", "transaction_read_only", "on", True),
        (
            "set session characteristics as transaction isolation level serializable",
            "default_transaction_isolation",
            "serializable",
            False,
        ),
    ],
)
def test_set(sql: str, name: str, value: str | None, local: bool) -> None:
    statement = one(sql)
    assert isinstance(statement, s.SetVariable)
    assert (statement.name, statement.value, statement.local) == (name, value, local)


def test_several_modes_in_one_set() -> None:
    statement = one("set transaction isolation level serializable, read only not deferrable")
    assert statement.also == (("transaction_read_only", "on"), ("transaction_deferrable", "off"))


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("show all", "all"),
        ("show Server_Version", "server_version"),
        ("show time zone", "timezone"),
        ("show transaction isolation level", "transaction_isolation"),
        ("show sluice.engine", "sluice.engine"),
    ],
)
def test_show(sql: str, name: str) -> None:
    assert one(sql).name == name
    assert one(sql.replace("show", "reset", 1)).name == name


@pytest.mark.parametrize(
    ("sql", "want"),
    [
        ("begin", s.Begin(text="begin")),
        ("begin work", s.Begin(text="begin work")),
        (
            "start transaction read write, isolation level read committed",
            s.Begin(
                text="start transaction read write, isolation level read committed",
                modes=(("transaction_read_only", "off"), ("transaction_isolation", "read committed")),
            ),
        ),
        ("commit and chain", s.Commit(text="commit and chain", chain=True)),
        ("end transaction and no chain", s.Commit(text="end transaction and no chain")),
        ("abort", s.Rollback(text="abort")),
        ("rollback and chain", s.Rollback(text="rollback and chain", chain=True)),
        ("rollback work to savepoint a", s.RollbackTo(text="rollback work to savepoint a", name="a")),
        ("savepoint A", s.Savepoint(text="savepoint A", name="a")),
        ("release savepoint a", s.Release(text="release savepoint a", name="a")),
        ("close all", s.CloseCursor(text="close all", name=None)),
        ("close c", s.CloseCursor(text="close c", name="c")),
        ("deallocate prepare all", s.Deallocate(text="deallocate prepare all", name=None)),
        ("deallocate p", s.Deallocate(text="deallocate p", name="p")),
        ("discard temporary", s.Discard(text="discard temporary", target="temp")),
        (
            "create schema if not exists x",
            s.CreateSchema(text="create schema if not exists x", name="x", if_not_exists=True),
        ),
    ],
)
def test_plain_fields(sql: str, want: s.Statement) -> None:
    assert one(sql) == want


@pytest.mark.parametrize(
    ("sql", "direction", "count", "move"),
    [
        ("fetch c", "forward", 1, False),
        ("fetch from c", "forward", 1, False),
        ("fetch next from c", "forward", 1, False),
        ("fetch prior in c", "backward", 1, False),
        ("fetch first c", "absolute", 1, False),
        ("fetch last from c", "absolute", -1, False),
        ("fetch absolute -3 from c", "absolute", -3, False),
        ("fetch relative 0 c", "relative", 0, False),
        ("fetch 5 c", "forward", 5, False),
        ("fetch -5 from c", "forward", -5, False),
        ("fetch all c", "forward", None, False),
        ("fetch forward c", "forward", 1, False),
        ("fetch forward 7 in c", "forward", 7, False),
        ("move forward all from c", "forward", None, True),
        ("move backward 2 c", "backward", 2, True),
        ("fetch backward all c", "backward", None, False),
    ],
)
def test_fetch_and_move(sql: str, direction: str, count: int | None, move: bool) -> None:
    statement = one(sql)
    assert (statement.cursor, statement.direction, statement.count, statement.move) == ("c", direction, count, move)


@pytest.mark.parametrize("name", ["next", "prior", "forward", "absolute"])
def test_a_cursor_may_be_called_like_a_movement(name: str) -> None:
    assert one(f"fetch {name}").cursor == name
    assert one(f"fetch forward 3 from {name}").cursor == name


@pytest.mark.parametrize(
    ("options", "binary", "hold", "scroll"),
    [
        ("cursor", False, False, None),
        ("binary insensitive cursor with hold", True, True, None),
        ("no scroll cursor without hold", False, False, False),
        ("asensitive scroll cursor", False, False, True),
    ],
)
def test_declare(options: str, binary: bool, hold: bool, scroll: bool | None) -> None:
    statement = one(f"declare c {options} for select nosuch")
    assert (statement.name, statement.binary, statement.hold, statement.scroll) == ("c", binary, hold, scroll)
    assert statement.query.text == "select nosuch"


def test_the_query_inside_counts_positions_from_its_own_beginning() -> None:
    (_, statement) = parse("begin; declare c cursor for select nosuch")
    assert isinstance(statement, s.DeclareCursor)
    assert statement.query.offset == 28
    assert statement.query.tree.expressions[0].meta["start"] == 7


@pytest.mark.parametrize(
    ("options", "analyze", "verbose", "costs", "form"),
    [
        ("", False, False, True, "text"),
        ("analyze verbose", True, True, True, "text"),
        ("(format json)", False, False, True, "json"),
        ("(format xml)", False, False, True, "xml"),
        ("(analyze, costs off, verbose true, format text)", True, True, False, "text"),
        ("(analyze false, buffers)", False, False, True, "text"),
    ],
)
def test_explain(options: str, analyze: bool, verbose: bool, costs: bool, form: str) -> None:
    statement = one(f"explain {options} select 1")
    assert (statement.analyze, statement.verbose, statement.costs, statement.format) == (analyze, verbose, costs, form)
    assert isinstance(statement.inner, s.Query)


def test_explain_of_a_query_in_parentheses_has_no_options() -> None:
    assert isinstance(one("explain (select 1)").inner, s.Query)
    assert isinstance(one("explain execute p (1)").inner, s.ExecuteStatement)
    assert isinstance(one("explain declare c cursor for select 1").inner, s.DeclareCursor)


def test_explain_options_that_do_not_exist() -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse("explain (foo) select 1")
    assert (caught.value.message, caught.value.position) == ('unrecognized EXPLAIN option "foo"', 10)


def test_prepare_and_execute() -> None:
    statement = one("prepare p (int, numeric(10,2)) as select $1 + $2")
    assert statement.name == "p"
    assert [str(resolve_type(typ)) for typ in statement.types] == ["integer", "numeric(10,2)"]
    assert statement.inner.text == "select $1 + $2"
    assert len(one("execute p (1, 'a' || 'b')").arguments) == 2
    assert one("execute p").arguments == ()


def test_create_view() -> None:
    statement = one('create or replace temp view s.V (a, "B") as select 1, 2')
    assert statement.name == QualifiedName(schema="s", name="v", position=28)
    assert (statement.columns, statement.replace, statement.temporary) == (("a", "B"), True, True)
    assert statement.query.text == "select 1, 2"


def test_create_foreign_table() -> None:
    statement = one(
        "create foreign table if not exists t (a int not null, b varchar(3) null, c timestamp(3) with time zone[])"
        " server files options (path 'x/*.parquet', format 'parquet')"
    )
    assert statement.if_not_exists
    assert [(c.name, str(resolve_type(c.type)), c.not_null) for c in statement.columns] == [
        ("a", "integer", True),
        ("b", "character varying(3)", False),
        ("c", "timestamp(3) with time zone[]", False),
    ]
    assert statement.options == (("path", "x/*.parquet"), ("format", "parquet"))


@pytest.mark.parametrize(
    ("text", "kind", "tables", "wanted"),
    [
        ("", "all", (), "ab"),
        ("limit to (a) ", "limit to", ("a",), "a"),
        ("except (a, c) ", "except", ("a", "c"), "b"),
    ],
)
def test_import_foreign_schema(text: str, kind: str, tables: tuple[str, ...], wanted: str) -> None:
    (found,) = parse(f'import foreign schema "cat.db" {text}from server spark into s')
    assert isinstance(found, s.ImportForeignSchema)
    assert (found.remote, found.server, found.into, found.kind, found.tables) == ("cat.db", "spark", "s", kind, tables)
    assert "".join(filter(found.wants, "ab")) == wanted
    (found,) = parse("import foreign schema a from server files into s options (path '/lake')")
    assert isinstance(found, s.ImportForeignSchema)
    assert found.options == (("path", "/lake"),)


def test_create_foreign_table_with_columns_to_be_inferred() -> None:
    statement = one("CREATE FOREIGN TABLE lineitem OPTIONS (path 'lineitem.parquet', format 'parquet')")
    assert statement.columns == ()


@pytest.mark.parametrize("kind", ["view", "foreign table", "table", "schema"])
def test_drop(kind: str) -> None:
    statement = one(f"drop {kind} if exists a, b cascade")
    assert (statement.kind, statement.if_exists, statement.cascade) == (kind, True, True)
    assert [n.name for n in statement.names] == ["a", "b"]
    assert not one(f"drop {kind} a restrict").cascade


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("int", "integer"),
        ("char", "character(1)"),
        ('"char"', '"char"'),
        ("character varying", "character varying"),
        ("nchar(3)", "character(3)"),
        ("float(24)", "real"),
        ("float", "double precision"),
        ("dec(5,-2)", "numeric(5,-2)"),
        ("numeric(5)", "numeric(5,0)"),
        ("pg_catalog.int8", "bigint"),
        ("time(2)", "time(2) without time zone"),
        ("text array[3]", "text[]"),
        ("int[][]", "integer[]"),
        ("regclass", "regclass"),
    ],
)
def test_type_names(written: str, shown: str) -> None:
    (typ,) = one(f"prepare p ({written}) as select 1").types
    assert str(resolve_type(typ)) == shown


@pytest.mark.parametrize(
    ("sql", "tables", "full", "verbose"),
    [
        ("vacuum", [], False, False),
        ("vacuum full verbose t", ["t"], True, True),
        ("vacuum (verbose, full off) s.t, u", ["s.t", "u"], False, True),
        ("vacuum (full true, freeze false) t", ["t"], True, False),
        ("VACUUM (VERBOSE 1, FULL 0)", [], False, True),
    ],
)
def test_vacuum(sql: str, tables: list[str], full: bool, verbose: bool) -> None:
    statement = one(sql)
    assert ([str(name) for name in statement.tables], statement.full, statement.verbose) == (tables, full, verbose)


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("vacuum (nonsense) t", SqlSyntaxError, 'unrecognized VACUUM option "nonsense"'),
        ("vacuum (full 7) t", SqlSyntaxError, "full requires a Boolean value"),
        ("vacuum verbose full t", SqlSyntaxError, 'syntax error at or near "full"'),
        ("vacuum freeze t", FeatureNotSupported, "not supported: VACUUM (FREEZE)"),
        ("vacuum (index_cleanup auto) t", FeatureNotSupported, "not supported: VACUUM (INDEX_CLEANUP)"),
        ("vacuum t (a)", FeatureNotSupported, "ANALYZE option must be specified when a column list is provided"),
    ],
)
def test_vacuum_that_cannot_be(sql: str, error: type[SqlError], message: str) -> None:
    with pytest.raises(error) as caught:
        parse(sql)
    assert caught.value.message == message

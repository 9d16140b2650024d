"""PostgreSQL's JDBC driver, Debian's package, in a Java process that Py4J drives."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from support.jdbc import Jdbc

Connect = Callable[[str], Any]


@pytest.fixture(scope="module")
def jdbc() -> Iterator[Jdbc]:
    with Jdbc() as running:
        yield running


@pytest.fixture
def connect(jdbc: Jdbc) -> Iterator[Connect]:
    made: list[Any] = []

    def connect(options: str = "") -> Any:
        address = f"{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"
        made.append(jdbc.connect(f"jdbc:postgresql://{address}?user={os.environ['PGUSER']}{options}"))
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


def _run(connection: Any, *statements: str) -> None:
    statement = connection.createStatement()
    for text in statements:
        statement.execute(text)
    statement.close()


def _column(result: Any, name: str) -> list[str]:
    found = []
    while result.next():
        found.append(result.getString(name))
    return found


def test_browses(connect: Connect) -> None:
    connection = connect("")
    _run(
        connection,
        "drop table if exists j_lines",
        "drop table if exists j_heads",
        "create table j_heads (id integer primary key, name varchar(20) not null)",
        "create table j_lines (head integer references j_heads, amount numeric(10,2))",
    )
    told = connection.getMetaData()
    assert "j_heads" in _column(told.getTables(None, "public", "j%", None), "TABLE_NAME")
    assert _column(told.getColumns(None, "public", "j_heads", "%"), "TYPE_NAME") == ["int4", "varchar"]
    assert _column(told.getPrimaryKeys(None, "public", "j_heads"), "COLUMN_NAME") == ["id"]
    assert _column(told.getImportedKeys(None, "public", "j_lines"), "PKTABLE_NAME") == ["j_heads"]
    assert _column(told.getExportedKeys(None, "public", "j_heads"), "FKTABLE_NAME") == ["j_lines"]
    assert _column(told.getIndexInfo(None, "public", "j_heads", True, False), "COLUMN_NAME") == ["id"]
    assert "numeric" in _column(told.getTypeInfo(), "TYPE_NAME")
    assert "public" in _column(told.getSchemas(), "TABLE_SCHEM")


def test_prepares(connect: Connect) -> None:
    connection = connect("&prepareThreshold=3")
    statement = connection.prepareStatement("select ?::int + 1, ?::text, ?::numeric")
    for number in range(8):
        statement.setInt(1, number)
        statement.setString(2, "x'y")
        statement.setNull(3, 2)
        result = statement.executeQuery()
        assert result.next()
        assert (result.getInt(1), result.getString(2), result.getBigDecimal(3)) == (number + 1, "x'y", None)


def test_pages(connect: Connect) -> None:
    connection = connect("")
    connection.setAutoCommit(False)
    statement = connection.createStatement()
    statement.setFetchSize(100)
    result = statement.executeQuery("select x from generate_series(1, 1000) x")
    assert _column(result, "x") == [str(x) for x in range(1, 1001)]
    statement.setMaxRows(7)
    assert len(_column(statement.executeQuery("select x from generate_series(1, 1000) x"), "x")) == 7
    connection.commit()


@pytest.mark.parametrize("options", ["", "&reWriteBatchedInserts=true"])
def test_batches(connect: Connect, options: str) -> None:
    connection = connect(options)
    _run(connection, "drop table if exists j_batch", "create table j_batch (id integer, name text)")
    connection.setAutoCommit(False)
    statement = connection.prepareStatement("insert into j_batch values (?, ?)")
    for number in range(60):
        statement.setInt(1, number)
        statement.setString(2, f"n{number}")
        statement.addBatch()
    assert len(statement.executeBatch()) == 60
    connection.commit()
    assert _column(connection.createStatement().executeQuery("select count(*) as n from j_batch"), "n") == ["60"]


def test_cancels(connect: Connect) -> None:
    connection = connect("")
    statement = connection.createStatement()
    statement.setQueryTimeout(1)
    with pytest.raises(Py4JJavaError, match="canceling statement due to user request"):
        statement.executeQuery("select pg_sleep(600)")
    other = connection.createStatement()
    done = threading.Event()

    def cancel() -> None:
        while not done.wait(0.3):
            other.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(Py4JJavaError, match="canceling statement due to user request"):
            other.executeQuery("select pg_sleep(600)")
    finally:
        done.set()
        thread.join()
    assert _column(connection.createStatement().executeQuery("select 1 as one"), "one") == ["1"]


def test_copies(connect: Connect, jdbc: Jdbc) -> None:
    connection = connect("")
    _run(connection, "drop table if exists j_copy", "create table j_copy (id integer, name text)")
    copies = connection.getCopyAPI()
    reader = jdbc.java.io.StringReader("1,a\n2,b\n3,\n")
    assert copies.copyIn("copy j_copy from stdin (format csv)", reader) == 3
    writer = jdbc.java.io.StringWriter()
    assert copies.copyOut("copy (select * from j_copy order by id) to stdout", writer) == 3
    assert writer.toString() == "1\ta\n2\tb\n3\t\\N\n"


def _heard(connection: Any, milliseconds: int) -> list[tuple[str, str, int]]:
    """Return the result of PGConnection.getNotifications with this timeout; 0 waits for ever."""
    found = connection.getNotifications(milliseconds)
    return [(one.getName(), one.getParameter(), one.getPID()) for one in found or ()]


def test_hears(connect: Connect) -> None:
    listener, speaker = connect(""), connect("")
    process = speaker.getBackendPID()
    _run(listener, "listen news", 'listen "Mixed Case"')
    _run(speaker, "notify news, 'it''s here'", 'notify "Mixed Case"', "notify other, 'nobody hears'")
    heard: list[tuple[str, str, int]] = []
    while len(heard) < 2:
        heard += _heard(listener, 0)
    assert heard == [("news", "it's here", process), ("Mixed Case", "", process)]
    assert _heard(listener, 1) == []
    # What a transaction says is heard once it commits, each thing once, and never where it does not.
    speaker.setAutoCommit(False)
    _run(speaker, "notify news, 'a'", "notify news, 'a'", "select pg_notify('news', 'b')")
    assert _heard(listener, 100) == []
    speaker.commit()
    _run(speaker, "notify news, 'c'")
    speaker.rollback()
    _run(speaker, "notify news, 'd'")
    speaker.commit()
    heard = []
    while len(heard) < 3:
        heard += _heard(listener, 0)
    assert [text for _name, text, _process in heard] == ["a", "b", "d"]
    # They come with the answers to other questions too.
    _run(speaker, "notify news, 'e'")
    speaker.commit()
    while not (heard := _heard(listener, -1)):
        _run(listener, "select 1")
    assert heard == [("news", "e", process)]
    # One hears what one says oneself, and nothing after UNLISTEN.
    _run(listener, "notify news, 'self'")
    assert _heard(listener, -1) == [("news", "self", listener.getBackendPID())]
    _run(listener, "unlisten *", "notify news, 'gone'")
    assert _heard(listener, 100) == []

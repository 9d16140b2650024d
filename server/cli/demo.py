"""`sluice demo`: generates TPC-H data, starts a member over it, gives a short tour through a real PostgreSQL
connection, and then reads a cursor slowly while the demo serves, so that the console has a statement to show.

The member is a process of its own (`sluice serve`), so the tour sees what any client sees. Data that already exists is
reused.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from server.config.address import Address

TABLES: Final = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")

_REGIONS: Final = """select r_name, count(*) as customers, round(avg(c_acctbal), 2) as balance
from customer join nation on c_nationkey = n_nationkey join region on n_regionkey = r_regionkey
group by r_name order by customers desc"""

_PRICING: Final = """select l_returnflag, l_linestatus, sum(l_quantity) as quantity,
       sum(l_extendedprice * (1 - l_discount)) as revenue, avg(l_discount) as discount, count(*) as items
from lineitem where l_shipdate <= date '1998-12-01' - interval '90 days'
group by 1, 2 order by 1, 2"""

_SPENDERS: Final = """select c_name, sum(o_totalprice) as spent, rank() over (order by sum(o_totalprice) desc)
from customer join orders on c_custkey = o_custkey
group by c_name order by spent desc fetch first 5 rows only"""

#: The statement that keeps running, and the number of its rows that are read each second.
_ALIVE: Final = "select l_orderkey, l_partkey, l_shipdate, l_comment from lineitem"
_ALIVE_ROWS: Final = 1_000

#: Wider than any table of the tour.
_WIDTH_MAX: Final = 10_000

#: Heading, setting of sluice.engine, query.
TOUR: Final = (
    ("A join over small tables: short fragments run in process", "auto", _REGIONS),
    ("The pricing summary (TPC-H 1), on Spark", "spark", _PRICING),
    ("The same in process: same plan, same answer", "local", _PRICING),
    ("Top customers, with a window function, on Spark", "spark", _SPENDERS),
)


def run(*, scale: float, listen: str, data: Path, once: bool) -> int:
    """Run the demo. Returns the exit status. It ends at Ctrl-C or SIGTERM, or after the tour with `once`."""
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        folder = data / f"tpch-{scale:g}"
        _generate(console, scale, folder)
        with _member(console, listen, folder) as (address, web):
            _register(console, address)
            _tour(console, address)
            _connections(console, address)
            also = "" if once else ", and a cursor that is read slowly, until Ctrl-C"
            console.print(f"\nThe web console shows the member{also}:\n  {web}", soft_wrap=True)
            if not once:
                _keep_reading(address)
    except KeyboardInterrupt:
        console.print("\nstopped")
    except (psycopg.Error, _DemoError) as error:
        console.print(f"sluice demo: {error}", style="red")
        return 1
    return 0


class _DemoError(Exception):
    """An error that stops the demo; the message is for the person who runs it."""


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _generate(console: Console, scale: float, folder: Path) -> None:
    if all((folder / f"{table}.parquet").exists() for table in TABLES):
        console.print(f"using the TPC-H data in {folder}")
        return
    tool = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(tool) if tool.exists() else shutil.which("tpchgen-cli") or "tpchgen-cli"]
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with _progress(console, f"generating TPC-H data at scale {scale:g}"):
        done = subprocess.run(
            [*command, "parquet", "-s", f"{scale:g}", "--output-dir", str(partial)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise _DemoError(f"tpchgen-cli failed: {done.stderr.strip()}")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


@contextlib.contextmanager
def _progress(console: Console, what: str) -> Iterator[None]:
    """Print what is being done while it runs, and how long it took."""
    started = time.perf_counter()
    if console.is_terminal:
        with console.status(f"{what} ..."):
            yield
    else:
        console.print(f"{what} ...")
        yield
    console.print(f"{what}: {time.perf_counter() - started:.1f} s")


@contextlib.contextmanager
def _member(console: Console, listen: str, folder: Path) -> Iterator[tuple[Address, str]]:
    """Run a `sluice serve` over `folder`, which is ended on exit. Yields the address on which it listens, and the
    console's URL.
    """
    command = [sys.executable, "-m", "server.cli.main", "serve", "--listen", listen]
    command += ["--console", "127.0.0.1:0", "--data", str(folder), "--log-level", "warning", "--processes", "auto"]
    member = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        with _progress(console, "starting a member"):
            assert member.stdout is not None
            words = dict(part.split("=", 1) for part in member.stdout.readline().split() if "=" in part)
        if "listen" not in words:
            raise _DemoError(f"the member did not start (exit status {member.wait()})")
        yield Address.parse(words["listen"]), words["console"]
    finally:
        member.terminate()
        with contextlib.suppress(KeyboardInterrupt):
            member.wait()
        assert member.stdout is not None
        member.stdout.close()


def _register(console: Console, address: Address) -> None:
    with _connect(address) as connection, _progress(console, f"registering {len(TABLES)} Parquet files as tables"):
        for table in TABLES:
            connection.execute(
                sql.SQL("create foreign table if not exists {} options (path {}, format 'parquet')").format(
                    sql.Identifier(table), sql.Literal(f"{table}.parquet")
                )
            )


def _connect(address: Address) -> psycopg.Connection[tuple[object, ...]]:
    connection = psycopg.connect(
        host=address.host, port=address.port, dbname="sluice", user="demo", autocommit=True, application_name="demo"
    )
    return connection


def _tour(console: Console, address: Address) -> None:
    with _connect(address) as connection:
        with _progress(console, "waiting for Spark to start"):
            connection.execute("set sluice.engine = spark")
            connection.execute("select 1")
        for heading, engine, query in TOUR:
            connection.execute(sql.SQL("set sluice.engine = {}").format(sql.Literal(engine)))
            _show(console, connection, heading, query)
        connection.execute("set sluice.engine = spark")
        _stream(console, connection)


def _show(console: Console, connection: psycopg.Connection[tuple[object, ...]], heading: str, query: str) -> None:
    console.print(f"\n[bold]{heading}[/bold]")
    console.print(Syntax(query, "sql", background_color="default"))
    explained = connection.execute(f"explain {query}".encode()).fetchall()
    engine = str(explained[-1][0]) if explained else ""
    started = time.perf_counter()
    cursor = connection.execute(query.encode())
    rows = cursor.fetchall()
    took = time.perf_counter() - started
    names = [column.name for column in cursor.description or ()]
    _print_whole(console, _table(names, rows))
    engine = next((str(line[0]) for line in explained if str(line[0]).startswith("Engine:")), engine)
    console.print(f"({len(rows)} rows, {took * 1000:.0f} ms)  {engine}")


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for index, name in enumerate(names):
        numeric = bool(rows) and not isinstance(rows[0][index], str)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    return table


def _print_whole(console: Console, table: Table) -> None:
    """Print a table at its full width. rich would truncate values on a narrower terminal, and a truncated number reads
    as another number.
    """
    options = console.options.update(width=_WIDTH_MAX, max_width=_WIDTH_MAX)
    width = max(console.measure(table, options=options).maximum, console.width)
    Console(file=console.file, width=width, force_terminal=console.is_terminal, highlight=False).print(table)


def _stream(console: Console, connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Read a cursor over all of lineitem: Spark's tasks stream the rows, and wait while nobody fetches."""
    query = "select l_orderkey, l_shipdate, l_comment from lineitem"
    console.print("\n[bold]A cursor over all of lineitem, streamed by Spark's tasks[/bold]")
    console.print(Syntax(query, "sql", background_color="default"))
    with connection.transaction(), connection.cursor("tour") as cursor:
        started = time.perf_counter()
        cursor.execute(query.encode())
        rows = len(cursor.fetchmany(100))
        first = time.perf_counter() - started
        while page := cursor.fetchmany(50_000):
            rows += len(page)
    took = time.perf_counter() - started
    console.print(f"({rows} rows, the first 100 after {first * 1000:.0f} ms, all after {took:.1f} s)")


def _keep_reading(address: Address, pause: Callable[[float], None] = time.sleep) -> None:
    """Read a cursor over lineitem again and again, some rows a second, so that the console shows a running statement.
    It uses the local engine, which leaves Spark's cores to the user. Does not return.
    """
    with _connect(address) as connection:
        connection.execute("set sluice.engine = local")
        while True:
            with connection.transaction(), connection.cursor("alive") as cursor:
                cursor.execute(_ALIVE.encode())
                while cursor.fetchmany(_ALIVE_ROWS):
                    pause(1.0)
            pause(1.0)


def _connections(console: Console, address: Address) -> None:
    host, port = address.host, address.port
    console.print("\n[bold]Connect[/bold]")
    console.print(f"  psql        psql -h {host} -p {port} -U demo sluice")
    console.print(f"  JDBC        jdbc:postgresql://{host}:{port}/sluice?user=demo")
    console.print(
        f"  ODBC        Driver=PostgreSQL Unicode;Server={host};Port={port};Database=sluice;Uid=demo", soft_wrap=True
    )
    console.print(f"  SQLAlchemy  postgresql+psycopg://demo@{host}:{port}/sluice")

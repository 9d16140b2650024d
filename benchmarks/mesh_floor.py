"""A lower bound for the latency that a mesh adds on this machine: the same work by processes that do nothing else.

    with floor(files) as ask:
        ask(WHOLE)      # the first process reads all files
        ask(SHARED)     # each process reads its own, and the first sums up

There is one process per file. Each has a DuckDB of one thread with its file as a table in memory, as a member has a
small file that it has read before. They wait in blocking reads of plain sockets; partial results are Arrow streams,
summed with Arrow's kernels. There is no client protocol, no catalog, no plan, no credit and no event loop: the
remaining work is to wake the processes and to query DuckDB.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

WHOLE: Final = b"whole"
SHARED: Final = b"shared"
_OWN: Final = b"own"
_LOAD: Final = "create table {table} as select l_returnflag, l_quantity from read_parquet($files)"
_QUERIES: Final = {
    what: f"select l_returnflag, count(*) as lines, sum(l_quantity) as quantity from {table} group by l_returnflag"
    for what, table in ((WHOLE, "whole"), (_OWN, "own"))
}


@contextlib.contextmanager
def floor(files: Sequence[Path]) -> Iterator[Callable[[bytes], bytes]]:
    """Start the processes, one per file; they are ended on exit. Yields a call that sends a request to the first
    process and returns its answer.
    """
    spawning = multiprocessing.get_context("spawn")
    processes, others = [], list[tuple[str, int]]()
    try:
        for file in reversed(files):
            here, there = spawning.Pipe()
            first = file is files[0]
            names = [str(name) for name in files] if first else []
            process = spawning.Process(target=_serve, args=(there, str(file), names, others if first else []))
            process.start()
            there.close()
            processes.append(process)
            others.append(here.recv())
        with Client(others[-1]) as connection:
            yield lambda what: _asked(connection, what)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _asked(connection: Connection, what: bytes) -> bytes:
    connection.send_bytes(what)
    return connection.recv_bytes()


def _serve(starter: Any, own: str, whole: Sequence[str], others: Sequence[tuple[str, int]]) -> None:
    """Run a process that answers the first connection. others: the processes that it queries in turn."""
    database = duckdb.connect(config={"threads": 1})
    database.execute(_LOAD.format(table="own"), {"files": [own]})
    if whole:
        database.execute(_LOAD.format(table="whole"), {"files": list(whole)})
    asked = [Client(address) for address in others]
    with Listener(("127.0.0.1", 0)) as listener:
        starter.send(listener.address)
        connection = listener.accept()
        with contextlib.suppress(EOFError):
            while True:
                what = connection.recv_bytes()
                connection.send_bytes(_encoded(_summed(database, asked) if what == SHARED else _rows(database, what)))


def _rows(database: duckdb.DuckDBPyConnection, what: bytes) -> pa.Table:
    return database.sql(_QUERIES[what]).to_arrow_table()


def _summed(database: duckdb.DuckDBPyConnection, asked: Sequence[Connection]) -> pa.Table:
    """Return the rows of all processes, including this one's, summed by group."""
    for connection in asked:
        connection.send_bytes(_OWN)
    parts = [_rows(database, _OWN), *(pa.ipc.open_stream(connection.recv_bytes()).read_all() for connection in asked)]
    return pa.concat_tables(parts).group_by("l_returnflag").aggregate([("lines", "sum"), ("quantity", "sum")])


def _encoded(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())

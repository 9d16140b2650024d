"""Statements whose rows Spark computes and writes, the tables that they change, and what these contain afterwards.

The statements read `lineitem` of TPC-H. Rows are compared by their number and by sums over their columns, on the
member's local engine, in Delta's log, and in the files of a folder.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg
from deltalake import DeltaTable

from support.answers import value
from support.member_process import MemberProcess, wait_until

_ROWS: Final = "select l_orderkey as key, l_linenumber as line, l_comment as note from lineitem"
#: What tells a table's rows from other rows.
_SIGN: Final = "count(*), sum(key), sum(key * (line + 3) % 1000003), sum(length(note))"
_COLUMNS: Final = "key bigint, line int, note text"
#: `filled` has several files, so that several tasks read it.
_TABLES: Final = (
    f"create table filled ({_COLUMNS})",
    *(f"insert into filled select * from ({_ROWS}) as r where key % 4 = {rest}" for rest in range(4)),
    f"create table keyed ({_COLUMNS}, primary key (key, line))",
    f"create table parted ({_COLUMNS}) partition by list (line)",
)
Sign = tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """statement: `{folder}` in it is the member's folder. target: the table that it writes or creates, or the folder
    (`made/`). after: a query, asked before the statement, of the rows that the target has after it. by_tasks: whether
    Spark's tasks write the rows.
    """

    statement: str
    target: str
    after: str
    by_tasks: bool = True


CHANGES: Final = {
    "insert": Change(f"insert into filled {_ROWS}", "filled", f"table filled union all {_ROWS}"),
    "sorted": Change(
        f"insert into filled {_ROWS} order by note", "filled", f"table filled union all {_ROWS}", by_tasks=False
    ),
    "keyed": Change(f"insert into keyed {_ROWS}", "keyed", _ROWS),
    "parted": Change(f"insert into parted {_ROWS}", "parted", _ROWS),
    "create": Change(f"create table made as {_ROWS}", "made", _ROWS),
    "copy": Change(f"copy ({_ROWS}) to '{{folder}}/files/made/' (format parquet)", "made/", _ROWS),
    "update": Change(
        "update filled set note = note || '!', key = key + 1 where line % 2 = 0",
        "filled",
        "select key + 1 - line % 2, line, note || case line % 2 when 0 then '!' else '' end from filled",
    ),
    "delete": Change(
        "delete from filled where line % 2 = 0", "filled", "select key, line, note from filled where line % 2 = 1"
    ),
    "merge": Change(
        "merge into filled as f using (select l_orderkey + l_orderkey % 2 * 10000000 as k, l_linenumber as l"
        " from lineitem where l_orderkey % 6 < 2) as s on f.key = s.k and f.line = s.l"
        " when matched then update set note = 'merged' when not matched then insert values (s.k, s.l, 'new')",
        "filled",
        "select key, line, case key % 6 when 0 then 'merged' else note end from filled union all"
        " select l_orderkey + 10000000, l_linenumber, 'new' from lineitem where l_orderkey % 6 = 1",
    ),
}


class ChangedTables:
    """The tables of a member that the statements change. folder: the member's, with its catalog, tables and files."""

    def __init__(self, member: MemberProcess, folder: Path) -> None:
        self._member = member
        self.folder = folder
        self._copied = folder / "files" / "made"
        self._copied.parent.mkdir(exist_ok=True)

    def make(self) -> None:
        """Make the tables as they are before each statement."""
        self.drop()
        with self._connect() as session:
            for statement in _TABLES:
                session.execute(statement.encode())

    def drop(self) -> None:
        """Remove the tables, and what the statements create."""
        shutil.rmtree(self._copied, ignore_errors=True)
        with self._connect() as session:
            session.execute(b"drop table if exists filled, keyed, parted, made")

    def sign(self, rows: str) -> Sign:
        """Sign the rows of a query."""
        with self._connect() as session:
            return _sign(session.execute(f"select {_SIGN} from ({rows}) as r(key, line, note)".encode()).fetchall())

    def sign_target(self, target: str) -> Sign | None:
        """Sign the rows that a table or folder has now; None: there is none. Delta's log must have the same rows."""
        if target.endswith("/"):
            return _sign_parquet(f"read_parquet('{self._copied}/*.parquet')") if self._copied.exists() else None
        with self._connect() as session:
            wait_until(lambda: value(session, "select sum(pending) from sluice.tables") == 0)
            location = value(session, f"select max(location) from sluice.tables where name = '{target}'")
        if location is None:
            return None
        files = DeltaTable(self.folder / "tables" / location).file_uris()
        signed = self.sign(f"table {target}")
        if files:
            assert signed == _sign_parquet(f"read_parquet({files}, hive_partitioning = true)"), files
        else:
            assert signed[0] == 0
        return signed

    def staged(self) -> list[Path]:
        """Return the files that tasks have written for statements that have not ended."""
        return list(self.folder.glob("tables/*/_staging-*/**/*.parquet"))

    def require_nothing_copied(self) -> None:
        """Assert that the folder of files has no other entry than the target of COPY."""
        assert {path.name for path in self._copied.parent.iterdir()} <= {self._copied.name}

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return self._member.connect(options="-c sluice.engine=local")


def _sign(rows: list[tuple[Any, ...]]) -> Sign:
    [row] = rows
    return tuple(int(number or 0) for number in row)


def _sign_parquet(source: str) -> Sign:
    with duckdb.connect() as connection:
        return _sign(connection.execute(f"select {_SIGN} from {source}").fetchall())

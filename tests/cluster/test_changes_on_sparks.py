"""Changes whose rows are computed by the Sparks of several members, each in its own member: each writes its own files,
and together they have as many rows as one engine would write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.fault_ground import ROWS, Ground, connect
from support.member_process import MemberProcess

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

_SPARK = {"SLUICE_SPARK__MASTER": "local[1]", "SLUICE_SPARK__DRIVER_MEMORY": "600m"}
_OPTIONS = "-c sluice.engine=spark -c sluice.distribution=always"
#: What the members' Sparks write side by side: no row has to meet another.
_SIDE_BY_SIDE = (
    "insert into {} select x, s, x % 97, x / 3.0 from t where x % 50 in (1, 7)",
    "update {} set k = k + 1000, price = price * 2 where id % 3 = 0",
    "delete from {} where id % 10 = 7",
)
#: What one Spark does, since rows meet.
_MEETING = (
    "update {} set k = -1 from (select x from t where x % 1000 = 1) as odd where odd.x = id",
    "merge into {} as d using (select x + 300000 as x, s from t where x % 20 = 1) as n on d.id = n.x "
    "when matched and d.id % 3 = 0 then delete when matched then update set note = 'merged' "
    "when not matched then insert (id, note) values (n.x, 'new')",
)
_COLUMNS = "id bigint, note text, k int{}, price numeric(12, 3)"


@dataclass
class Sparks:
    folder: Path
    members: list[MemberProcess]

    @property
    def staged(self) -> list[Path]:
        return sorted(self.folder.glob("tables/*/_staging-*"))

    @property
    def files(self) -> set[Path]:
        return set(self.folder.glob("tables/**/*.parquet"))


@pytest.fixture(scope="module")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sparks]:
    folder = tmp_path_factory.mktemp("sparks")
    with ExitStack() as stack:
        yield Sparks(folder, list(Ground(folder, stack, _SPARK).three()))


def writers(connection: psycopg.Connection[Any], change: str) -> set[str]:
    """The members whose Sparks write it; none: the initiator does."""
    lines = "\n".join(line for (line,) in connection.execute(f"explain (distsql) {change}").fetchall())
    [writing] = [part for part in re.split(r"^Fragment ", lines, flags=re.MULTILINE) if "MUTATE" in part]
    assert "Engine: spark" in writing, lines
    return set(re.findall(r"Instance \d+: (\w+)", writing))


def test_rows_without_columns(sparks: Sparks) -> None:
    with connect(sparks.members[1], options=_OPTIONS) as connection:
        connection.execute("create table none ()")
        insert = "insert into none select from t where x % 50 = 1"
        assert writers(connection, insert) == {"m1", "m2", "m3"}
        assert connection.execute(insert.encode()).statusmessage == "INSERT 0 12000"
        assert len(connection.execute("table none").fetchall()) == 12000
        assert connection.execute("delete from none where random() < 2").statusmessage == "DELETE 12000"


@pytest.mark.parametrize("check", ["", " check (k < 5000)"], ids=["by itself", "by tasks"])
def test_members_write_what_one_engine_would(sparks: Sparks, check: str) -> None:
    columns = _COLUMNS.format(check)
    with connect(sparks.members[1], options=_OPTIONS) as all_, sparks.members[0].connect() as one:
        one.execute(f"drop table if exists d, w; create table d ({columns}); create table w ({columns})".encode())
        one.execute("set sluice.distribution = off; set sluice.engine = local")
        for change in (*_SIDE_BY_SIDE, *_MEETING):
            together = change in _SIDE_BY_SIDE
            assert len(writers(all_, change.format("d"))) == (3 if together else 1), change
            before = sparks.files
            tag = all_.execute(change.format("d")).statusmessage
            assert len(sparks.files - before) > 1 or not together, change
            assert tag == one.execute(change.format("w")).statusmessage, change
            for difference in ("table d except all table w", "table w except all table d"):
                assert one.execute(f"select count(*) from ({difference}) as x").fetchone() == (0,), change
        made = all_.execute("create table made as select x, s from t where x % 70 = 2")
        assert made.statusmessage == f"SELECT {len(range(2, ROWS, 70))}"
        assert one.execute("select count(*), count(distinct x) from made").fetchone() == (len(range(2, ROWS, 70)),) * 2
        one.execute("drop table made")
    assert sparks.staged == []


def test_sparks_write_through_a_view(sparks: Sparks) -> None:
    with connect(sparks.members[0], options=_OPTIONS) as session:
        session.execute("create table base (id bigint, k int); insert into base select x, x % 97 from t")
        session.execute("create view even as select k as rest, id from base where id % 2 = 0 with check option")
        change = "update even set rest = rest + 1000 where id % 3 = 0"
        assert len(writers(session, change)) == 3
        assert session.execute(change).statusmessage == f"UPDATE {len(range(0, ROWS, 6))}"
        before = sparks.files
        with pytest.raises(psycopg.errors.WithCheckOptionViolation) as caught:
            session.execute(f"insert into even (id, rest) select x + (x = {ROWS - 6})::int, 1 from t where x % 2 = 0")
        assert caught.value.diag.message_detail == f"Failing row contains ({ROWS - 5}, 1)."
        assert sparks.files == before
    assert sparks.staged == []


def test_an_error_of_one_row_leaves_nothing(sparks: Sparks) -> None:
    with connect(sparks.members[0], options=_OPTIONS) as session:
        session.execute(f"create table checked ({_COLUMNS.format(' check (k < 5000)')})".encode())
        before = sparks.files
        with pytest.raises(psycopg.errors.CheckViolation) as caught:
            session.execute(f"insert into checked select x, s, case when x = {ROWS - 5} then 9000 else 1 end, 1 from t")
        assert f"Failing row contains ({ROWS - 5}, row " in (caught.value.diag.message_detail or "")
    assert sparks.staged == []
    assert sparks.files == before

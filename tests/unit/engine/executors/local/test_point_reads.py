"""Point reads from columns in memory: they return what DuckDB returns, reflect the files' current rows, and do not
affect other queries.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from psycopg.types.string import TextLoader
from support.aged_files import write_aged
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.catalog.model.objects import Table, TableColumn
from engine.common.sql_type import SqlType
from engine.contracts.output_cast import carrier_of
from engine.executors.local import point_reads, row_group_columns
from engine.executors.local.point_reads import PointReads
from engine.executors.local.row_group_columns import Chunk, ColumnKey, decode_columns
from engine.planner.codegen.point_read import Equality, PointRead
from engine.planner.optimizer.footers import row_groups
from wire.types import pg_types as t

Client = psycopg.Connection[tuple[Any, ...]]
ROWS = 4_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def member(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as member, member.connect() as client:
        write(lake / "t" / "1.parquet", table(1, 0))
        write(lake / "t" / "2.parquet", table(2, ROWS))
        client.execute(f"create foreign table t options (path '{lake / 't'}', format 'parquet')")
        yield member


@pytest.fixture
def client(member: LocalMember) -> Iterator[Client]:
    with member.connect() as client:
        client.execute("set sluice.engine = local")
        yield client


def table(seed: int, first: int) -> pa.Table:
    """A column of each type that is held, in order and not, with nulls and without."""
    draw = random.Random(seed)

    def some(value: Any) -> Any:
        return None if draw.random() < 0.1 else value

    numbers = range(first, first + ROWS)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "pair": pa.array([n // 2 for n in numbers], pa.int32()),
            "spread": pa.array([draw.randrange(500) for _ in numbers], pa.int32()),
            "small": pa.array([some(draw.randrange(-3, 3)) for _ in numbers], pa.int16()),
            "word": pa.array([some(draw.choice(["", "a", "é", "a'b", "ab" * 9])) for _ in numbers], pa.string()),
            "day": pa.array(
                [some(dt.date(2024, 1, 1) + dt.timedelta(draw.randrange(30))) for _ in numbers], pa.date32()
            ),
            "amount": pa.array([some(Decimal(draw.randrange(10**6)) / 100) for _ in numbers], pa.decimal128(10, 2)),
            "ratio": pa.array([some(draw.choice([0.5, -0.0, float("inf")])) for _ in numbers], pa.float64()),
            "flag": pa.array([some(draw.random() < 0.5) for _ in numbers], pa.bool_()),
        }
    )


def write(path: Path, rows: pa.Table, *, age: float = 10.0) -> None:
    """Write a Parquet file of several row groups that last changed a while ago."""
    write_aged(path, rows, age=age, row_group_size=1_000)


def answered(member: LocalMember) -> int:
    return member.engine.executors.local.statistics()["point_reads"]


def ask_until_held(member: LocalMember, client: Client, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """The rows of a query, asked again until it is answered from columns in memory."""
    found: list[list[tuple[Any, ...]]] = []

    def is_answered() -> bool:
        before = answered(member)
        found.append(client.execute(query.encode(), arguments or None, prepare=True).fetchall())
        return answered(member) > before

    wait_until(is_answered)
    assert all(rows == found[0] for rows in found), "the same rows, wherever they come from"
    return found[0]


ALL = "id, pair, spread, small, word, day, amount, ratio, flag"


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("id = 1234", "id + 0 = 1234"),
        ("7999 = id", "id + 0 = 7999"),
        ("pair = 777", "pair + 0 = 777"),
        ("spread = 17 and small = 2", "spread + 0 = 17 and small + 0 = 2"),
        ("spread = 17 and small = -2 and word = 'é'", "spread + 0 = 17 and small + 0 = -2 and word || '' = 'é'"),
        ("word = '' and pair = 3", "word || '' = '' and pair + 0 = 3"),
        ("small = 1 and small = 2 and pair = 3", "false"),
        ("small = 70000 and pair = 3", "false"),
    ],
)
def test_rows_of_given_values_are_those_that_duckdb_finds(
    member: LocalMember, client: Client, condition: str, same: str
) -> None:
    before = client.execute(f"select {ALL} from t where {same}".encode()).fetchall()
    assert ask_until_held(member, client, f"select {ALL} from t where {condition}") == before


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_rows_of_parameters_are_those_that_duckdb_finds(member: LocalMember, client: Client, mode: str) -> None:
    client.execute(f"set plan_cache_mode = {mode}".encode())
    query, same = f"select {ALL} from t where spread = %s and word = %s", "spread + 0 = %s and word || '' = %s"
    ask_until_held(member, client, query, 1, "a")
    draw = random.Random(5)
    before = answered(member)
    for _ in range(40):
        values = draw.randrange(500), draw.choice(["", "a", "é", "a'b", "ab" * 9, None])
        found = client.execute(query.encode(), values, prepare=True).fetchall()
        assert found == client.execute(f"select {ALL} from t where {same}".encode(), values).fetchall()
    # A value that rules the files out, or decides what is planned, may be read another way.
    assert answered(member) > before


@pytest.mark.parametrize("value", [None, -9, 3_000, 99_999_999_999])
def test_a_value_that_no_row_has_equals_nothing(member: LocalMember, client: Client, value: int | None) -> None:
    client.execute("set plan_cache_mode = force_generic_plan")
    query = "select id from t where spread = %s and small = %s"
    ask_until_held(member, client, query, 5, 1)
    before = answered(member)
    assert client.execute(query.encode(), (5, value), prepare=True).fetchall() == []
    assert client.execute(query.encode(), (value, 1), prepare=True).fetchall() == []
    assert answered(member) == before + 2


@pytest.mark.parametrize("limit", [0, 1, 3, 5, 10_000])
def test_limit_gives_the_first_rows_in_the_order_of_the_files(member: LocalMember, client: Client, limit: int) -> None:
    whole = ask_until_held(member, client, "select id, day from t where spread = 321")
    assert len(whole) > 5
    assert ask_until_held(member, client, f"select id, day from t where spread = 321 limit {limit}") == whole[:limit]


def test_a_column_may_be_given_twice_and_a_row_fetched_by_the_page(member: LocalMember, client: Client) -> None:
    rows = ask_until_held(member, client, "select word, id, word from t where spread = 8")
    assert rows == [(word, number, word) for word, number, _ in rows]
    with client.transaction(), client.cursor("c") as cursor:
        cursor.itersize = 3
        cursor.execute("select word, id, word from t where spread = 8")
        assert list(cursor) == rows


@pytest.mark.parametrize(
    "query",
    [
        "select id from t where pair = 3 or pair = 4",
        "select id from t where pair = 3 order by word",
        "select id + 1 from t where pair = 3",
        "select id from t where pair > 7990",
        "select id from t where pair = 3 limit 1 offset 1",
        "select count(*) from t where pair = 3",
        "select distinct word from t where pair = 3",
        "select id from t where pair = spread",
        "select id from t where ratio = 0.5 and pair = 3",
        "select id from t where pair is not distinct from 3",
        "select 1 from t where pair = 3",
    ],
)
def test_other_queries_are_left_to_duckdb(member: LocalMember, client: Client, query: str) -> None:
    ask_until_held(member, client, "select id, word, spread, ratio from t where pair = 3")
    before = answered(member)
    for _ in range(4):
        client.execute(query.encode(), prepare=True).fetchall()
    assert answered(member) == before


def test_queries_for_many_rows_are_left_to_duckdb(
    member: LocalMember, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point_reads, "_ROWS_MOST", 1)
    ask_until_held(member, client, "select id from t where id = 5")
    before = answered(member)
    for _ in range(4):
        assert len(client.execute("select id from t where pair = 5", prepare=True).fetchall()) == 2
    assert answered(member) == before


def test_a_file_that_is_replaced_is_read_again(member: LocalMember, client: Client, lake: Path) -> None:
    file = lake / "replaced.parquet"
    write(file, pa.table({"k": [1, 2], "v": ["old", "old"]}), age=100)
    client.execute(f"create foreign table replaced options (path '{file}', format 'parquet')".encode())
    assert ask_until_held(member, client, "select v from replaced where k = 2") == [("old",)]
    write(file, pa.table({"k": [2, 3], "v": ["new", "new"]}), age=50)
    assert client.execute("select v from replaced where k = 2", prepare=True).fetchall() == [("new",)]
    assert ask_until_held(member, client, "select v from replaced where k = 2") == [("new",)]
    file.unlink()
    with pytest.raises(psycopg.Error):
        client.execute("select v from replaced where k = 2", prepare=True).fetchall()


def test_a_file_that_changed_a_moment_ago_is_not_held(member: LocalMember, client: Client, lake: Path) -> None:
    write(lake / "fresh.parquet", pa.table({"k": [1, 2]}), age=-3600)
    client.execute(f"create foreign table fresh options (path '{lake / 'fresh.parquet'}', format 'parquet')".encode())
    before = answered(member)
    for _ in range(5):
        assert client.execute("select k from fresh where k = 2", prepare=True).fetchall() == [(2,)]
    assert answered(member) == before


def test_a_stored_table_has_its_rows_of_now(member: LocalMember, client: Client) -> None:
    client.execute("create table s (k int primary key, v text, n numeric(6, 2))")
    client.execute("insert into s select g, 'v' || g, g / 4.0 from generate_series(1, 500) g")
    query = "select v, n from s where k = %s"
    assert ask_until_held(member, client, query, 44) == [("v44", Decimal("11.00"))]
    client.execute("update s set v = 'other' where k = 44")
    assert client.execute(query.encode(), (44,), prepare=True).fetchall() == [("other", Decimal("11.00"))]
    assert ask_until_held(member, client, query, 44) == [("other", Decimal("11.00"))]
    with client.transaction(force_rollback=True):
        client.execute("delete from s where k = 44")
        assert client.execute(query.encode(), (44,), prepare=True).fetchall() == []
    assert client.execute(query.encode(), (44,), prepare=True).fetchall() == [("other", Decimal("11.00"))]
    client.execute("alter table s rename v to w")
    client.execute("alter table s add v int")
    assert client.execute("select w, v from s where k = 44").fetchall() == [("other", None)]
    client.execute("drop table s")


def test_what_is_held_stays_within_its_bytes(
    member: LocalMember, client: Client, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_until_held(member, client, "select id from t where id = 6")
    monkeypatch.setattr(row_group_columns, "COLUMN_BYTES", 4_096)
    rows = pa.table({"k": range(1_000), "v": ["x" * 100] * 1_000})
    write(lake / "large.parquet", rows)
    client.execute(f"create foreign table large options (path '{lake / 'large.parquet'}', format 'parquet')".encode())
    before = answered(member)
    for _ in range(6):
        assert client.execute("select v from large where k = 7", prepare=True).fetchall() == [("x" * 100,)]
    assert answered(member) == before
    held = member.engine.executors.local.statistics()
    assert held["held_columns"] > 0
    assert held["held_column_bytes"] <= point_reads.HELD_BYTES


def test_explain_analyze_and_limited_roles_run_the_statement(member: LocalMember, client: Client) -> None:
    ask_until_held(member, client, "select id from t where id = 6")
    before = answered(member)
    plan = client.execute("explain (analyze, distsql) select id from t where id = 6").fetchall()
    assert plan
    assert answered(member) == before


def foreign(client: Client, name: str, columns: str, file: Path) -> None:
    client.execute(f"create foreign table {name} {columns} options (path '{file}', format 'parquet')".encode())


def ask_often(client: Client, query: str) -> set[str]:
    """What a query comes to when it is asked again and again, from files and from memory: rows, or the error's SQLSTATE."""
    found = set()
    for _ in range(6):
        try:
            found.add(str(client.execute(query.encode(), prepare=True).fetchall()))
        except psycopg.Error as error:
            found.add(error.sqlstate or "")
    return found


def test_infinite_dates_of_a_stored_table(member: LocalMember, client: Client) -> None:
    client.execute("create table ends (k int, d date)")
    client.execute("insert into ends values (1, '-infinity'), (2, 'infinity'), (3, '2024-02-29'), (4, null)")
    client.adapters.register_loader("date", TextLoader)
    for key, date in ((1, "-infinity"), (2, "infinity"), (3, "2024-02-29"), (4, None)):
        assert ask_until_held(member, client, f"select d from ends where k = {key}") == [(date,)]
    client.execute("drop table ends")


def test_tables_over_one_file_have_their_own_types(member: LocalMember, client: Client, lake: Path) -> None:
    file = lake / "typed.parquet"
    amounts = pa.array([Decimal("1.25"), Decimal("98765.35")], pa.decimal128(10, 2))
    write(file, pa.table({"k": [1, 2], "n": amounts, "s": ["5", "6"], "b": [2**40, 7]}))
    foreign(client, "as_it_is", "", file)
    assert ask_until_held(member, client, "select n, s, b from as_it_is where k = 1") == [(Decimal("1.25"), "5", 2**40)]
    ask_until_held(member, client, "select k from as_it_is where s = '6'")
    foreign(client, "otherwise", "(k bigint, n numeric(10, 1), s int, b int)", file)
    foreign(client, "narrow", "(k bigint, n numeric(4, 2), s text, b text)", file)
    assert ask_often(client, "select n from otherwise where k = 1") == {"[(Decimal('1.3'),)]"}
    assert ask_often(client, "select k from otherwise where s = 6") == {"[(2,)]"}
    assert ask_often(client, "select b from otherwise where k = 1") == {"22003"}
    assert ask_often(client, "select n from narrow where k = 2") == {"22003"}
    assert ask_often(client, "select k from narrow where b = '7'") == {"[(2,)]"}
    # A column that is not held leaves the others alone.
    assert ask_until_held(member, client, "select s from narrow where k = 1") == [("5",)]


def test_a_row_group_without_rows(member: LocalMember, client: Client, lake: Path) -> None:
    file = lake / "hollow.parquet"
    rows = pa.table({"k": pa.array([1], pa.int64()), "v": ["a"]})
    with pq.ParquetWriter(file, rows.schema) as writer:
        writer.write_table(rows.slice(0, 0))
        writer.write_table(rows)
    os.utime(file, (1, 1))
    foreign(client, "hollow", "", file)
    assert ask_until_held(member, client, "select v from hollow where k = 1") == [("a",)]


def test_columns_whose_names_differ_in_case_are_left_to_duckdb(member: LocalMember, client: Client, lake: Path) -> None:
    file = lake / "cases.parquet"
    write(file, pa.table({"k": [1, 2], "v": ["a", "b"]}))
    foreign(client, "cases", "(k bigint, v text)", file)
    write(file, pa.table({"K": [1, 2], "k": [1, 2], "v": ["a", "b"]}))
    before = answered(member)
    assert ask_often(client, "select v from cases where k = 2") == {"[('b',)]"}
    assert answered(member) == before


def test_columns_whose_names_have_a_point(member: LocalMember, client: Client, lake: Path) -> None:
    """Parquet separates the names of fields by points."""
    file = lake / "points.parquet"
    fields = pa.array([{"v": "field 1"}, {"v": "field 2"}])
    write(file, pa.table({"s": fields, "a.b": ["x", "y"], "a": ["p", "q"], "s.v": ["m", "n"], "k": [1, 2]}))
    foreign(client, "points", "", file)
    assert ask_until_held(member, client, 'select a, "a.b" from points where k = 2') == [("q", "y")]
    assert ask_until_held(member, client, "select k from points where a = 'p'") == [(1,)]
    assert ask_often(client, """select "s.v" from points where k = 2""") == {"[('n',)]"}
    assert ask_often(client, """select k from points where "s.v" = 'm'""") == {"[(1,)]"}


def test_a_file_that_is_written_anew_with_its_old_times(member: LocalMember, client: Client, lake: Path) -> None:
    file = lake / "times.parquet"
    write(file, pa.table({"k": [1, 2], "v": ["old", "old"]}))
    changed = file.stat().st_mtime_ns
    foreign(client, "times", "", file)
    assert ask_until_held(member, client, "select v from times where k = 2") == [("old",)]
    size = file.stat().st_size
    write(file, pa.table({"k": [1, 2], "v": ["new", "new"]}))
    os.utime(file, ns=(changed, changed))
    assert file.stat().st_size == size
    assert client.execute("select v from times where k = 2", prepare=True).fetchall() == [("new",)]


def test_a_text_that_many_rows_share_is_not_written_out(tmp_path: Path) -> None:
    """A file of 100 kB whose column takes 2 GB in memory."""
    file = tmp_path / "shared.parquet"
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"k": range(20_000), "v": shared}), file, store_schema=False)
    chunk = Chunk(str(file), None, 0)
    before = pa.default_memory_pool().max_memory()
    keys = [ColumnKey(chunk, "v", SqlType(t.TEXT)), ColumnKey(chunk, "k", SqlType(t.INT8))]
    decoded = dict(decode_columns(chunk, keys))
    assert decoded[keys[0]] is None
    assert decoded[keys[1]] is not None
    assert pa.default_memory_pool().max_memory() - before < 100 << 20


@dataclass
class Points:
    """Point reads of a file's column `v` by its column `k`. decoded: how many times columns were decoded."""

    file: Path
    held_bytes: int = point_reads.HELD_BYTES
    decoded: int = 0

    def __post_init__(self) -> None:
        types = {"k": SqlType(t.INT8), "v": SqlType(t.INT8)}
        columns = tuple(TableColumn(name, typ, number) for number, (name, typ) in enumerate(types.items(), 1))
        # The files of a log are what they were: no state of them is looked at.
        self.table = Table(1, "public", "t", columns, "parquet", str(self.file), (str(self.file),), lake="delta")
        row_groups(str(self.file), self.table)
        self.read = PointRead(self.table, (Equality("k", 7),), ("v",), types)
        self.schema = pa.schema([pa.field("v", carrier_of(types["v"]))])
        self.reads = PointReads(self._post, self.held_bytes)

    def _post(self, call: Callable[[], object]) -> None:
        self.decoded += 1
        call()

    def find(self) -> Sequence[pa.RecordBatch] | None:
        return self.reads.find(self.read, self.schema, {})


def test_columns_that_never_fit_are_not_decoded_for_each_read(tmp_path: Path) -> None:
    file = tmp_path / "large.parquet"
    pq.write_table(pa.table({"k": range(1 << 20), "v": range(1 << 20)}), file)
    points = Points(file, held_bytes=12 << 20)
    assert all(points.find() is None for _ in range(200))
    assert 1 <= points.decoded <= 8


def test_a_wide_row_group_is_decoded_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one read has decoded does not occupy a fragment thread for as long as the row group is wide."""
    file = tmp_path / "wide.parquet"
    pq.write_table(pa.table({"k": range(1_000), "v": range(1_000)}), file)
    points = Points(file)
    monkeypatch.setattr(points.reads, "_credit", 1)
    monkeypatch.setattr(point_reads, "_MISSED_BYTES", 1)
    for _ in range(2):
        points.find()
    assert points.reads.statistics()["held_columns"] == 1
    monkeypatch.setattr(point_reads, "_MISSED_BYTES", 1 << 20)
    found = None
    for _ in range(3):
        found = points.find()
    assert found is not None


def test_rows_do_not_keep_their_column_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "ordered.parquet"
    pq.write_table(pa.table({"k": range(100_000), "v": range(100_000)}), file)
    points = Points(file)
    for _ in range(2):
        points.find()
    found = points.find()
    assert found is not None
    [batch] = found
    assert batch.to_pydict() == {"v": [7]}
    assert batch.get_total_buffer_size() < 1_000


def test_a_read_looks_at_few_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "groups.parquet"
    pq.write_table(pa.table({"k": range(100), "v": range(100)}), file, row_group_size=1)
    for _ in range(2):
        (points := Points(file)).find()
    for _ in range(2):
        points.find()
    assert points.find() is not None
    monkeypatch.setattr(point_reads, "_GROUPS_MOST", 99)
    assert points.find() is None


def test_conditions_that_many_rows_satisfy_are_left_to_duckdb(tmp_path: Path) -> None:
    """Each condition more is one more search on the event loop's thread."""
    file = tmp_path / "same.parquet"
    pq.write_table(pa.table({"k": [7] * 50_000, "v": [1] * 49_999 + [2]}), file)
    points = Points(file)
    key, value = points.read.equalities[0], Equality("v", 2)
    points.read = replace(points.read, equalities=(key, value))
    for _ in range(2):
        points.find()
    found = points.find()
    assert found is not None
    assert [batch.to_pydict() for batch in found] == [{"v": [2]}]
    points.read = replace(points.read, equalities=(key, *[value] * 20))
    assert points.find() is None

"""Plans over several members: their shape, and that every type and every aggregate gives the same as on one member.

The answers are those of DuckDB over the same files, run as one fragment. Values are random from a fixed seed, nulls,
NaN, infinities and negative zeros among them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.answers import differences
from support.distributed_ground import Layout, answer, on_one, table

from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.logical import Evaluator, Join, SetOperation, TableReader
from engine.plan_ir.physical import (
    HashRouter,
    MirrorRouter,
    Ordered,
    PhysicalPlan,
    Sequential,
    SingleRouter,
    Synchronizer,
    Unsynchronized,
)
from engine.planner.distribute import Setting, distribute, should_distribute

ROWS, FILES = 240, 4
_SPANS = ("1 mon", "30 days", "29 days 24:00:00", "-1 day", "00:00:00.5", "1 year -360 days", None)


def _values(random: Random) -> dict[str, list[Any]]:
    def maybe(make: Any) -> Any:
        return None if random.random() < 0.15 else make()

    def number(digits: int) -> Decimal:
        return Decimal(random.randint(-4000, 4000)).scaleb(-digits)

    odd = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0)
    epoch = dt.datetime(2020, 1, 1)
    return {
        "g": [maybe(lambda: random.randint(1, 5)) for _ in range(ROWS)],
        "i2": [maybe(lambda: random.randint(-9, 9)) for _ in range(ROWS)],
        "i4": [maybe(lambda: random.randint(-9, 9)) for _ in range(ROWS)],
        "i8": [
            maybe(lambda: random.choice((random.randint(-9, 9), 2**53 + random.randint(0, 3)))) for _ in range(ROWS)
        ],
        "f4": [maybe(lambda: random.randint(-20, 20) / 4) for _ in range(ROWS)],
        "f8": [maybe(lambda: 10 + random.randint(-20, 20) / 4) for _ in range(ROWS)],
        "odd": [maybe(lambda: random.choice((*odd, float(random.randint(-3, 3))))) for _ in range(ROWS)],
        "n1": [maybe(lambda: number(1)) for _ in range(ROWS)],
        "n3": [maybe(lambda: number(3).quantize(Decimal("0.1")).quantize(Decimal("0.001"))) for _ in range(ROWS)],
        "b": [maybe(lambda: random.random() < 0.5) for _ in range(ROWS)],
        "s": [maybe(lambda: random.choice(("", "a", "ab", "B", "é", "zz", "a\x01"))) for _ in range(ROWS)],
        "bin": [maybe(lambda: random.choice((b"", b"\x00", b"\x00\x01", b"\xff"))) for _ in range(ROWS)],
        "d": [maybe(lambda: dt.date(2020, 1, random.randint(1, 19))) for _ in range(ROWS)],
        "ts": [maybe(lambda: epoch + dt.timedelta(hours=random.randint(-9, 9))) for _ in range(ROWS)],
        "span": [random.choice(_SPANS) for _ in range(ROWS)],
        "far": [random.choice(("infinity", "-infinity", "2020-02-03", None)) for _ in range(ROWS)],
        "clock": [random.choice(("10:00:00+02", "08:00:00+00", "09:00:00-03", None)) for _ in range(ROWS)],
    }


_TYPES = {
    "g": pa.int32(), "i2": pa.int16(), "i4": pa.int32(), "i8": pa.int64(), "f4": pa.float32(), "f8": pa.float64(),
    "odd": pa.float64(), "n1": pa.decimal128(9, 1), "n3": pa.decimal128(12, 3), "b": pa.bool_(), "s": pa.utf8(),
    "bin": pa.binary(), "d": pa.date32(), "ts": pa.timestamp("us"), "span": pa.utf8(), "far": pa.utf8(),
    "clock": pa.utf8(),
}  # fmt: skip


def _write(folder: Path, name: str, seed: int) -> tuple[str, ...]:
    values = _values(Random(seed))
    rows = pa.table({"id": pa.array(range(ROWS))} | {k: pa.array(v, _TYPES[k]) for k, v in values.items()})
    files = []
    for number in range(FILES):
        path = folder / f"{name}{number}.parquet"
        pq.write_table(rows.slice(number * ROWS // FILES, ROWS // FILES), path)
        files.append(str(path))
    return tuple(files)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder = tmp_path_factory.mktemp("kinds")
    return Layout({name: table(name, _write(folder, name, seed)) for name, seed in (("t", 3), ("u", 4))})


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _same(
    layout: Layout, database: LocalDatabase, text: str, *, ordered: bool = False, parted: bool = True
) -> PhysicalPlan:
    """Run both ways; the physical plan."""
    plan = layout.plan(text)
    physical = distribute(plan, layout.setting(), "it is asked for")
    assert (len(physical.fragments) > 1) == parted, physical.reason
    different = differences(answer(on_one(plan), plan, database), answer(physical, plan, database), ordered)
    assert different is None, f"{text}\n{different}"
    return physical


# -- every type ------------------------------------------------------------------------------------------------------

COLUMNS = (
    "i2", "i4", "i8", "f4", "f8", "odd", "n1", "n3", "b", "s", "bin", "d", "ts", "cast(span as interval)",
    "cast(far as date)", "cast(far as timestamp)", "cast(far as timestamptz)", "cast(clock as timetz)",
    "cast(s as char(3))", "cast(s as bpchar)",
)  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("direction", ["", "desc", "nulls first", "desc nulls last"])
def test_sorted_streams_are_merged(layout: Layout, database: LocalDatabase, column: str, direction: str) -> None:
    text = f"select id, {column} as k from t order by {column} {direction}, id desc"
    physical = _same(layout, database, text, ordered=True)
    assert isinstance(physical.edges[-1].synchronizer, Ordered)
    _same(layout, database, f"select {column} is null from t order by {column} {direction}", ordered=True)


@pytest.mark.parametrize("column", COLUMNS)
def test_groups_meet(layout: Layout, database: LocalDatabase, column: str) -> None:
    _same(layout, database, f"select count(*), min(id) from t group by {column}")
    if column != "cast(s as bpchar)":
        _same(layout, database, f"select count(distinct {column}) from t")


#: Equal keys of types that are stored differently; $ is the table.
PAIRS = (
    ("$.i2", "$.i8"), ("$.i4", "$.n3"), ("$.n1", "$.n3"), ("$.f4", "$.odd"), ("$.i8", "$.f8"), ("$.i8", "$.n1"),
    ("$.s", "$.s"), ("$.b", "$.b"), ("$.d", "$.d"), ("$.d", "$.ts"), ("$.bin", "$.bin"), ("$.i4 + 1", "$.i4"), ("$.odd", "$.odd"),
    ("$.s", "cast($.s as varchar(9))"), ("cast($.s as bpchar)", "cast($.s as char(4))"),
    ("cast($.span as interval)", "cast($.span as interval)"), ("cast($.far as date)", "cast($.far as date)"),
    ("cast($.clock as timetz)", "cast($.clock as timetz)"),
)  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("kind", ["join", "left join", "right join", "full join"])
def test_keys_meet(layout: Layout, database: LocalDatabase, kind: str, left: str, right: str) -> None:
    on = f"{left.replace('$', 't')} = {right.replace('$', 'u')}"
    _same(layout, database, f"select t.id, u.id from t {kind} u on {on}")


@pytest.mark.parametrize("limit", [0, 1 << 20])
@pytest.mark.parametrize("kind", ["join", "left join", "right join", "full join"])
def test_joins_agree_whatever_moves(layout: Layout, database: LocalDatabase, kind: str, limit: int) -> None:
    layout = replace(layout, mirror_limit=limit, pinned={layout.tables["u"].files[0]: "c"})
    _same(layout, database, f"select t.id, u.id, u.g from t {kind} u on t.g = u.g and t.i4 = u.i4")


# -- every aggregate -------------------------------------------------------------------------------------------------

_NUMBERS = ("i2", "i4", "i8", "n1", "n3", "f4", "f8")
_SPREAD = ("i4", "i8 % 100", "n1", "n3", "f4", "f8")
AGGREGATES = (
    *(f"{name}({arg})" for name in ("sum", "avg", "min", "max") for arg in (*_NUMBERS, "odd")),
    *(f"extract(epoch from {name}(cast(span as interval)))" for name in ("sum", "avg", "min", "max")),
    *(f"{name}({arg})" for name in ("variance", "var_pop", "stddev", "stddev_pop") for arg in _SPREAD),
    *(f"{name}({arg})" for name in ("min", "max") for arg in ("s", "d", "ts", "cast(far as timestamp)", "cast(clock as timetz)")),
    *(f"{name}(b)" for name in ("bool_and", "bool_or", "every")),
    *(f"{name}(i4)" for name in ("bit_and", "bit_or", "bit_xor")),
    *(f"{name}(f4, f8)" for name in ("covar_pop", "covar_samp", "corr", "regr_avgx", "regr_avgy", "regr_count")),
    *(f"{name}(f4, f8)" for name in ("regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy")),
    "count(*)", "count(s)", "count(distinct s)", "sum(distinct n1)", "avg(distinct i4)", "variance(distinct i4)",
    "count(distinct g)", "min(distinct s)", "sum(i4) filter (where b)", "avg(n3) filter (where i2 > 3)",
    "percentile_cont(0.5) within group (order by f4)", "string_agg(s, ',' order by id)",
)  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_stages_give_what_one_gives(layout: Layout, database: LocalDatabase, aggregate: str) -> None:
    _same(layout, database, f"select g, {aggregate} from t group by g")
    _same(layout, database, f"select {aggregate} from t")
    _same(layout, database, f"select {aggregate}, count(*) from t where id % 1000 = 999")


@pytest.mark.parametrize(
    "text",
    [
        "select g, b, count(*), avg(n1), grouping(g, b) from t group by rollup (g, b)",
        "select g, b, i2, sum(i4), grouping(i2), grouping(g, i2) from t group by cube (g, b, i2) having count(*) > 1",
        "select g, sum(i4) from t group by grouping sets ((g), (), (g))",
        "select g, count(distinct i4), count(distinct s), sum(i8) from t group by g",
        "select g, count(distinct i4), sum(distinct i4), avg(n1), min(s) from t group by g having count(distinct i4) > 2",
        "select count(distinct i4), sum(n3) from t",
        "select count(distinct i4 + 1), avg(distinct i4 + 1) from t having count(distinct i4 + 1) > 0",
        "select distinct g, b from t",
        "select g, array_agg(i4 order by id) from t group by g",
        "select b, avg(total) from (select g, b, sum(i4) as total from t group by g, b) x group by b",
        "select sum(n) from (select count(*) as n from t union all select count(*) from u) x",
    ],
)
def test_grouped(layout: Layout, database: LocalDatabase, text: str) -> None:
    _same(layout, database, text)


# -- other operators -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("select id from t order by i4 desc, id limit 7 offset 3", True),
        ("select id, i4 from t order by i4 fetch first 5 rows with ties", False),
        ("select count(*) from (select id from t limit 50) x", False),
        ("select id + 1 from (select id from t order by id desc limit 9) x where id > 3", False),
        ("select i4 from t union select i4 from u", False),
        ("select i4, n1 from t union all select i2, n3 from u", False),
        ("select i4 from t intersect all select i2 from u", False),
        ("select n1 from t except select n3 from u", False),
        ("select 1, 'x' union all select i4, s from u", False),
        ("select distinct on (g) g, id from t order by g, id desc", False),
        ("select id, sum(i4) over (partition by g order by id), rank() over (partition by g, b order by s, id) from t", False),
        ("select id, row_number() over (order by n1, id) from t", False),
        ("select id, (select max(i4) from u where u.g = t.g) from t", False),
        ("select id from t where i4 in (select i2 from u) and exists (select 1 from u where u.id = t.id + 1)", False),
        ("select t.id, x.id from t, lateral (select id from u where u.g = t.g and u.i4 = t.i4) x", False),
        ("with w as (select g, sum(i4) as n from t group by g) select a.g, b.n from w a join w b on a.g = b.g", False),
        (
            "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) "
            "select n, (select count(*) from t) from r",
            False,
        ),
        ("select id, unnest(array[g, i4]) from t where id % 9 = 0", False),
        ("select count(*) from t, u where t.g = u.g and t.i4 > u.i4", False),
        ("select count(*) from t, u", False),
        ("select t.id, x.s from t left join (select distinct g, s from u) x on t.g = x.g", False),
    ],
)  # fmt: skip
def test_operators(layout: Layout, database: LocalDatabase, text: str, ordered: bool) -> None:
    _same(layout, database, text, ordered=ordered)
    pinned = {file: member for t in layout.tables.values() for file, member in zip(t.files, "bccb", strict=True)}
    _same(replace(layout, pinned=pinned, mirror_limit=1 << 20), database, text, ordered=ordered)


@pytest.mark.parametrize(
    ("text", "synchronizer"),
    [
        ("select generate_series(1, 3) from t order by g", Ordered),
        ("select generate_series(1, 3) from t order by g limit 50 offset 3", Ordered),
        ("select generate_series(1, 3) from t order by g fetch first 50 rows with ties", Unsynchronized),
        ("select s, g from (select generate_series(1, 3) as s, g from t order by g) x", Ordered),
        ("select s from (select generate_series(1, 3) as s, g from t order by g) x", Unsynchronized),
        ("select s from (select generate_series(1, 3) as s from t order by g) x", Unsynchronized),
        ("select s from (select generate_series(1, 3) as s from t order by g limit 60) x", Unsynchronized),
        ("select s + (select min(i2) - min(i2) from u) from (select generate_series(1, 3) as s, g from t order by g) x", None),
        ("select unnest(array_agg(s)) from (select generate_series(1, 3) as s from t order by g) x", Unsynchronized),
        ("select unnest(array(select generate_series(1, 3) from t order by g))", None),
        ("select distinct on (g, i4) generate_series(1, 3) from t order by g, i4, id", Ordered),
    ],
)  # fmt: skip
def test_sets_stay_together(
    layout: Layout, database: LocalDatabase, text: str, synchronizer: type[Synchronizer] | None
) -> None:
    """No key tells a set's rows apart: streams of them are merged, or else the sets run where the rows have been sorted."""
    plan = layout.plan(text)
    pinned = {file: member for t in layout.tables.values() for file, member in zip(t.files, "bccb", strict=True)}
    for place in (layout, replace(layout, pinned=pinned, mirror_limit=1 << 20)):
        physical = distribute(plan, place.setting(), "it is asked for")
        assert synchronizer is None or isinstance(physical.edges[-1].synchronizer, synchronizer), physical
        rows = answer(physical, plan, database).rows
        assert len(rows) >= 50
        assert [row[0] for row in rows] == [str(n % 3 + 1) for n in range(len(rows))]


# -- shapes ----------------------------------------------------------------------------------------------------------


def _routers(plan: PhysicalPlan) -> list[type]:
    return [type(edge.router) for edge in plan.edges]


def test_readers_have_an_instance_wherever_they_have_a_file(layout: Layout) -> None:
    plan = layout.distributed("select id from t")
    [reading, root] = plan.fragments
    assert sum(len(s) for i in reading.instances for s in i.splits.values()) == FILES
    assert [i.member for i in root.instances] == ["a"]
    assert plan.participants[0] == "a"


def test_pinned_files_are_read_where_they_are(layout: Layout) -> None:
    files = layout.tables["t"].files
    plan = replace(layout, pinned=dict.fromkeys(files, "c")).distributed("select sum(i4) from t")
    [reading, _] = plan.fragments
    assert [i.member for i in reading.instances] == ["c"]


def test_a_grouped_aggregate_has_as_many_buckets_as_flows(layout: Layout) -> None:
    plan = layout.distributed("select g, sum(i4) from t group by g")
    assert _routers(plan) == [HashRouter, SingleRouter]
    first, second, _ = plan.fragments
    assert [i.member for i in first.instances] == [i.member for i in second.instances]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("select g, sum(i4), max(s) from t group by g", 3 << 10),
        ("select g, d, count(*) from t group by rollup (g, d)", 1 << 20),
        ("select s, avg(n1) from t group by s having count(*) > 3", 1 << 20),
        ("select g, count(distinct i4), sum(n3) from t group by g", 1 << 20),
        ("select count(distinct s), count(distinct s) filter (where s is not null) from t", 1 << 20),
    ],
)
def test_few_groups_are_put_together_on_the_initiator(
    layout: Layout, database: LocalDatabase, text: str, limit: int
) -> None:
    plan = _same(replace(layout, gather_limit=limit), database, text)
    assert _routers(plan) == [SingleRouter]


def test_many_groups_are_not(layout: Layout) -> None:
    plan = replace(layout, gather_limit=256).distributed("select g, sum(i4) from t group by g")
    assert _routers(plan) == [HashRouter, SingleRouter]


def test_a_small_side_is_read_whole_and_a_pinned_one_is_mirrored(layout: Layout) -> None:
    text = "select t.id, u.s from t join u on t.id = u.id"
    plan = replace(layout, mirror_limit=1 << 20).distributed(text)
    assert _routers(plan) == [SingleRouter]
    pinned = dict.fromkeys(layout.tables["u"].files, "b") | dict.fromkeys(layout.tables["t"].files, "c")
    routers = _routers(replace(layout, mirror_limit=1 << 20, pinned=pinned).distributed(text))
    assert routers.count(HashRouter) == 0
    assert set(routers) == {MirrorRouter, SingleRouter}


def test_what_is_parted_already_does_not_move_again(layout: Layout) -> None:
    text = "select t.g, count(*) from t join u on t.g = u.g group by t.g"
    assert _routers(layout.distributed(text)) == [HashRouter, HashRouter, SingleRouter]
    text = "select a.g from (select g, count(*) from t group by g) a join u on a.g = u.g"
    assert _routers(layout.distributed(text)) == [HashRouter, HashRouter, SingleRouter]


def test_a_union_all_stays_where_its_inputs_are(layout: Layout) -> None:
    plan = layout.distributed("select id from t union all select id from u")
    assert any(isinstance(node, SetOperation) for node in plan.fragments[0].root.walk())
    assert len(plan.fragments) == 2


def test_volatile_functions_are_evaluated_in_one_place(layout: Layout) -> None:
    plan = layout.distributed("select id, random() from t")
    assert [type(node) for node in plan.fragments[0].root.walk()] == [TableReader]


def test_products_come_last(layout: Layout) -> None:
    plan = layout.distributed("select 1 from t a, t b, u where a.id = u.id and b.g = u.g")
    joins = [node for f in plan.fragments for node in f.root.walk() if isinstance(node, Join)]
    assert {join.kind for join in joins} == {"inner"}


def test_what_cannot_cross_stays_whole(layout: Layout, database: LocalDatabase) -> None:
    text = "select a.x from (select array_agg(i4 order by id) as x from t) a, (select array[1] as y) b"
    _same(layout, database, text)
    with_arrays = "select count(*) from (select distinct array[g] as x from t) y"
    _same(layout, database, with_arrays)


def test_one_spark_over_shared_files_is_one_fragment(layout: Layout) -> None:
    plan = distribute(layout.plan("select g, sum(i4) from t group by g"), replace(layout.setting(), engine="spark"))
    assert [f.engine for f in plan.fragments] == ["spark"]
    assert plan.reason.startswith("not distributed: one Spark")


def test_spark_reads_pinned_tables_and_nothing_else(layout: Layout) -> None:
    pinned = dict.fromkeys(layout.tables["t"].files, "b")
    setting = replace(layout.setting(), engine="spark", pinned=pinned)
    plan = distribute(layout.plan("select t.g, count(*) from t join u on t.id = u.id group by t.g order by 2"), setting)
    assert all(f.engine == ("local" if f.inputs else "spark") for f in plan.fragments)
    ordered = distribute(layout.plan("select id from t order by id"), setting)
    assert isinstance(ordered.edges[-1].synchronizer, Unsynchronized)


def test_the_rule(layout: Layout) -> None:
    plan = layout.plan("select count(*) from t")
    setting = layout.setting()
    assert should_distribute(plan, "off", setting) == (False, "sluice.distribution is off")
    assert should_distribute(plan, "always", setting)[0]
    assert should_distribute(plan, "auto", setting)[1].startswith("it reads")
    assert not should_distribute(plan, "auto", setting)[0]
    assert not should_distribute(plan, "always", Setting(("a",), "a"))[0]
    assert should_distribute(plan, "off", replace(setting, pinned={layout.tables["t"].files[0]: "b"}))[0]
    assert not should_distribute(layout.plan("select 1"), "always", setting)[0]


# -- in turn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["", "desc"])
def test_a_limit_over_files_in_order_reads_them_in_turn(
    layout: Layout, database: LocalDatabase, direction: str
) -> None:
    text = f"select s, id as k from t where i4 is not null order by k {direction}, s limit 70 offset 2"
    physical = _same(layout, database, text, ordered=True)
    assert isinstance(physical.edges[-1].synchronizer, Sequential)
    pinned = dict(zip(layout.tables["t"].files, "bbca", strict=True))
    assert isinstance(
        _same(replace(layout, pinned=pinned), database, text, ordered=True).edges[-1].synchronizer, Sequential
    )


@pytest.mark.parametrize(
    "text",
    [
        "select id from t order by id",
        "select i4 from t order by i4 limit 3",
        "select id from t order by id fetch first 3 rows with ties",
        "select id from t order by id % 3, id limit 3",
    ],
)
def test_others_are_merged(layout: Layout, database: LocalDatabase, text: str) -> None:
    physical = _same(layout, database, text, ordered=True)
    assert not isinstance(physical.edges[-1].synchronizer, Sequential)


def test_files_that_would_be_visited_twice_are_not_read_in_turn(layout: Layout, database: LocalDatabase) -> None:
    pinned = dict(zip(layout.tables["t"].files, "bcbc", strict=True))
    physical = _same(replace(layout, pinned=pinned), database, "select id from t order by id limit 3", ordered=True)
    assert isinstance(physical.edges[-1].synchronizer, Ordered)


# -- subqueries ------------------------------------------------------------------------------------------------------


def test_a_subquery_that_stands_for_itself_is_distributed_and_mirrored(layout: Layout, database: LocalDatabase) -> None:
    text = "select id from t where i8 in (select i4 from u group by i4 having count(*) > 9)"
    physical = _same(layout, database, text)
    assert [type(edge.router) for edge in physical.edges] == [HashRouter, MirrorRouter, SingleRouter]
    pinned = dict.fromkeys(layout.tables["u"].files, "b")
    assert MirrorRouter in _routers(_same(replace(layout, pinned=pinned), database, text))


def test_a_small_subquery_is_evaluated_by_each(layout: Layout, database: LocalDatabase) -> None:
    text = "select id from t where i8 in (select i4 from u)"
    assert _routers(_same(replace(layout, mirror_limit=1 << 20), database, text)) == [SingleRouter]


def test_a_condition_with_a_subquery_goes_before_the_join(layout: Layout, database: LocalDatabase) -> None:
    text = "select t.id from t, u where t.g = u.g and exists (select 1 from u x where x.i4 = t.i4 and x.b)"
    physical = _same(layout, database, text)
    assert any(isinstance(f.root, Evaluator) and f.root.filter is not None for f in physical.fragments[:2])


def test_having_with_a_subquery(layout: Layout, database: LocalDatabase) -> None:
    _same(layout, database, "select g, sum(i4) from t group by g having sum(i4) > (select avg(i2) from u)")
    _same(layout, database, "select id, (select max(s) from u), array(select i2 from u order by i2, id) from t")

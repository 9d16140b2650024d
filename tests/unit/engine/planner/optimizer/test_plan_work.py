"""The work of plans: estimated rows, bytes and memory, over files of known contents."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import Layout, table

from engine.planner.optimizer.cardinality import Estimator
from engine.planner.optimizer.plan_work import PlanWork, plan_work

_ROWS = 200_000
#: A row in memory beside its columns, and a numeric or a text in it.
_ROW, _WIDE, _TEXT = 16, 16, 32


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder: Path = tmp_path_factory.mktemp("work")
    facts = pa.table(
        {
            "id": pa.array([i * 7919 % _ROWS for i in range(_ROWS)], pa.int64()),
            "kind": pa.array([i * 31 % 100 for i in range(_ROWS)], pa.int32()),
            "flag": [("A", "N", "R")[i * 17 % 3] for i in range(_ROWS)],
            "text": [f"text {i * 7919 % _ROWS}" for i in range(_ROWS)],
        }
    )
    kinds = pa.table({"kind": pa.array(range(100), pa.int32()), "name": [f"kind {i}" for i in range(100)]})
    for name, rows in (("facts", facts), ("kinds", kinds)):
        pq.write_table(rows, folder / name)
    return Layout({name: table(name, [str(folder / name)]) for name in ("facts", "kinds")})


def _work(layout: Layout, query: str, *, writes: bool = False) -> PlanWork:
    return plan_work(layout.plan(query), {}, writes=writes)


def test_a_scan_sees_its_rows_and_holds_none(layout: Layout) -> None:
    work = _work(layout, "select id, text from facts")
    assert (work.rows, work.stages, work.held, work.written) == (_ROWS, 0, 0, 0)
    assert work.result_bytes == _ROWS * (_ROW + 8 + _TEXT)
    assert work.read > _work(layout, "select id from facts").read > 0


def test_what_is_written_is_the_result(layout: Layout) -> None:
    work = _work(layout, "select id from facts", writes=True)
    assert work.written == work.result_bytes == _ROWS * (_ROW + 8)


def test_a_sort_holds_its_rows_unless_few_are_wanted(layout: Layout) -> None:
    whole = _work(layout, "select id from facts order by id")
    assert (whole.stages, whole.held) == (1, _ROWS * (_ROW + 8))
    first = _work(layout, "select id from facts order by id limit 10")
    assert first.held == first.result_bytes
    assert first.result_bytes == 10 * (_ROW + 8)


def test_a_join_holds_its_smaller_side(layout: Layout) -> None:
    work = _work(layout, "select id, name from facts join kinds on facts.kind = kinds.kind")
    assert work.held == 100 * (_ROW + 4 + _TEXT)
    assert work.rows == pytest.approx(2 * (_ROWS + 100) + _ROWS, rel=0.01)


def test_groups_of_a_text_are_as_many_as_its_size_says(layout: Layout) -> None:
    few = _work(layout, "select flag, max(text) from facts group by flag")
    assert 0 < few.held < 1_000
    many = _work(layout, "select text, count(*) from facts group by text")
    assert many.held > _ROWS * _TEXT / 2
    renamed = _work(
        layout, "select f, max(text) from (select flag as f, text from facts where kind > 3) as x group by f"
    )
    assert 0 < renamed.held < 1_000


@pytest.mark.parametrize(
    "chain",
    [
        "select count(*) from facts a, facts b, kinds k where a.id = b.id and a.kind = k.kind and b.kind = k.kind",
        "select count(*) from facts a, kinds k, facts b where a.id = b.id and a.kind = k.kind and b.kind = k.kind",
        "select count(*) from kinds k, facts b, facts a where a.id = b.id and a.kind = k.kind and b.kind = k.kind",
    ],
)
def test_a_chain_of_joins_is_not_its_products(layout: Layout, chain: str) -> None:
    joined = _work(
        layout,
        "select count(*) from facts a join facts b on a.id = b.id join kinds k on a.kind = k.kind and b.kind = k.kind",
    )
    work = _work(layout, chain)
    assert work.rows < 8 * _ROWS
    assert work.held <= joined.held * 2


def test_estimates_of_a_chain_do_not_depend_on_its_order(layout: Layout) -> None:
    def rows(*names: str) -> float:
        query = f"select 1 from {', '.join(names)} where a.id = b.id and a.kind = k.kind and b.text = c.text"
        plan = layout.plan(query)
        return Estimator({}, root=plan).of(plan).rows

    tables = ("facts a", "facts b", "facts c", "kinds k")
    found = {round(rows(*tables)), round(rows(*reversed(tables))), round(rows(*tables[2:], *tables[:2]))}
    assert len(found) == 1
    assert found.pop() <= 2 * _ROWS


def test_little_that_joins_nothing_is_not_asked_further(layout: Layout) -> None:
    work = _work(layout, "select name, count(*) from kinds group by name")
    assert work == PlanWork(work.read)
    assert work.read > 0


def test_a_plan_beyond_all_measure_is_told_by_what_it_reads(layout: Layout) -> None:
    query = " union all ".join(["select id from facts"] * 400)
    work = _work(layout, query)
    assert work == PlanWork(400 * _work(layout, "select id from facts").read)


@pytest.mark.parametrize(
    "query",
    [
        "with q as materialized (select text from facts limit 10) select q.text from q join q r on q.text = r.text "
        "where q.text <> 'c' group by 1",
        "select x from (select text from facts union select 'a') as u (x) join facts on text = x where x <> 'a' group by x",
        "select x from (select text || 'a', row_number() over () from facts) as w (x, n) join facts on text = x where n > 3 "
        "group by x",
    ],
    ids=["a common table", "a union", "a window"],
)
def test_a_filter_emits_columns_under_the_ids_that_they_have(layout: Layout, query: str) -> None:
    """The origin of such a column is not looked for in itself, without end."""
    assert _work(layout, query).stages >= 2


def test_products_of_many_relations_are_numbers(layout: Layout) -> None:
    """2e5 to the power of 100 is none of a float's."""
    work = _work(layout, "select count(*) from " + ", ".join(f"facts f{i}" for i in range(100)))
    assert work.rows > 1e99


def test_relations_are_taken_in_the_order_of_their_equalities(layout: Layout) -> None:
    """One that is written last and connects the others multiplies nothing."""
    others = ", ".join(f"facts f{i}" for i in range(20))
    alike = " and ".join(f"f{i}.id = centre.id" for i in range(20))
    assert _work(layout, f"select count(*) from {others}, facts centre where {alike}").rows < 100 * _ROWS

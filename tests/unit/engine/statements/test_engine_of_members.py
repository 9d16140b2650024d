"""The engine of a query over one member and over several, chosen by the model in its terms: `compile_query`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import CONTEXT, Layout, table

from engine.contracts.mesh import MemberInfo, MembersNow
from engine.planner.codegen import Bindings
from engine.planner.engine_model import DEFAULT_MODEL, EngineModel
from engine.planner.planner import Choice
from engine.statements.shared.distribution import CompiledQuery, compile_query
from engine.statements.shared.terms import Terms

_ROWS = 400_000
_QUERY = "select kind, count(*), max(text) from t group by kind"
_TERMS = Terms("auto", "auto", 1 << 40, 1 << 20)
#: Two engines of the same speed, so that their cores alone decide.
_EVEN = EngineModel(
    local=replace(DEFAULT_MODEL.spark, statement=0.0, stage=0.0),
    spark=replace(DEFAULT_MODEL.spark, statement=0.0, stage=0.0),
    local_cores=2,
    spark_cores=5,
)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder: Path = tmp_path_factory.mktemp("choice")
    rows = pa.table(
        {
            "kind": pa.array([i * 31 % 100 for i in range(_ROWS)], pa.int32()),
            "text": [f"text {i * 7919 % _ROWS}" for i in range(_ROWS)],
        }
    )
    pq.write_table(rows, folder / "t", row_group_size=50_000)
    return Layout({"t": table("t", [str(folder / "t")])})


def _compiled(layout: Layout, query: str, terms: Terms, members: int = 2) -> CompiledQuery:
    infos = [
        MemberInfo(name, "1", "", "", "data", "up", 0, "", local=name == "a") for name in ("a", "b", "c", "d")[:members]
    ]
    return compile_query(layout.plan(query), terms, Bindings({}, CONTEXT), MembersNow("a", infos), None)


def _choice(layout: Layout, terms: Terms, members: int) -> Choice:
    return _compiled(layout, _QUERY, terms, members).choice


def test_the_faster_engine_runs_it(layout: Layout) -> None:
    assert _choice(layout, replace(_TERMS, model=_EVEN), 1).engine == "spark"
    assert _choice(layout, replace(_TERMS, model=replace(_EVEN, spark_cores=1)), 1).engine == "local"
    assert _choice(layout, _TERMS, 1).engine == "local"


def test_the_local_engines_of_all_members_run_what_they_do_faster_together(layout: Layout) -> None:
    terms = replace(_TERMS, model=_EVEN)
    assert _choice(layout, terms, 2).engine == "spark"
    together = _choice(layout, terms, 3)
    assert together.engine == "local"
    assert together.reason.endswith(" on 3 members")
    assert _choice(layout, replace(terms, distribution="off"), 3).engine == "spark"


def test_the_host_of_a_shared_spark_runs_it(layout: Layout) -> None:
    terms = replace(_TERMS, wish="spark", spark_member="b", spark_host="b")
    assert _compiled(layout, _QUERY, terms).physical is not None
    told = _compiled(layout, _QUERY, terms.on_this_member()).choice
    assert (told.engine, told.reason) == ("local", 'the Spark of member "b" cannot run it for this member')
    # The computation of json by Spark's tasks stays with the member that has planned it.
    found = _compiled(layout, """select ('{"a": "' || text || '"}')::json -> 'a' from t""", terms)
    reason = 'the Spark of member "b" cannot run it for this member'
    assert (found.choice.engine, found.choice.reason) == ("local", reason)
    assert found.notice is not None
    assert reason in found.notice
    assert found.physical is not None
    assert [fragment.engine for fragment in found.physical.fragments] == ["local"]
    assert _compiled(layout, "select array_agg(text) from t group by kind", terms).physical is not None
    # Without a shared Spark, the member uses its own.
    assert _compiled(layout, _QUERY, replace(terms, spark_host=None).on_this_member()).choice.engine == "spark"


def test_a_limit_is_each_members(layout: Layout) -> None:
    terms = replace(_TERMS, local_limit=2 << 20)
    alone = _choice(layout, terms, 1)
    assert alone.engine == "spark"
    assert alone.reason.endswith("over sluice.local_limit 2 MB")
    assert _choice(layout, terms, 4).engine == "local"


def test_what_the_client_wants_is_done_whatever_it_takes(layout: Layout) -> None:
    for wish in ("local", "spark"):
        told = _choice(layout, replace(_TERMS, wish=wish, model=_EVEN), 1)
        assert (told.engine, told.reason) == (wish, f"sluice.engine is {wish}")
        assert (told.expected is None) == (wish == "local")


def test_what_is_written_beyond_the_bound_is_for_spark(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.planner.engine_model.WRITTEN_MAX", 1000)
    assert _choice(layout, _TERMS, 1).engine == "local"
    told = _choice(layout, replace(_TERMS, writes=True), 1)
    assert told.engine == "spark"
    assert "; it writes " in told.reason

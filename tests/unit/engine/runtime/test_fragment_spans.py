"""Spans of fragments and edges, on each member that runs them, as children of the initiator's span."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.mesh_ground import MeshMember, gathered, mesh, rows
from support.session_server import eventually

from engine.common import tracing
from wire.errors import SqlError

pytest.importorskip("opentelemetry.sdk")

_ONE = pa.schema([pa.field("c1", pa.int64())])
_TOKENS = itertools.count(1)
_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
async def members(tmp_path: Path) -> AsyncIterator[list[MeshMember]]:
    async with mesh(tmp_path, 3) as started:
        yield started


@pytest.fixture
def exporter() -> Iterator[Any]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    found, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    tracing.install(provider.get_tracer("test"))
    yield found
    tracing.install(None)
    provider.shutdown()


def _named(exporter: Any, name: str) -> list[Any]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


async def _run(members: list[MeshMember], statement: str, trace: str) -> list[Any]:
    shared, specs = gathered(members, statement, _ONE)
    stream = members[0].runtime.open(f"m1:{next(_TOKENS)}", shared, specs, _ONE, trace=trace)
    return await rows(stream)


async def test_all_members_record_what_they_run(members: list[MeshMember], exporter: Any) -> None:
    found = await _run(members, "select range as c1 from range($number * 1000, $number * 1000 + 1000)", _PARENT)
    assert len(found) == 3000
    await eventually(lambda: len(_named(exporter, "fragment")) == 4)
    fragments, edges = _named(exporter, "fragment"), _named(exporter, "edge")
    assert {f"{span.parent.span_id:016x}" for span in fragments} == {_PARENT.split("-")[2]}
    assert {f"{span.context.trace_id:032x}" for span in (*fragments, *edges)} == {_PARENT.split("-")[1]}
    assert {span.attributes["sluice.member"] for span in fragments} == {"m1", "m2", "m3"}
    assert sorted(span.attributes["sluice.rows"] for span in fragments) == [1000, 1000, 1000, 3000]
    assert len(edges) == 3
    assert {span.parent.span_id for span in edges} < {span.context.span_id for span in fragments}
    assert all(span.attributes["sluice.bytes"] > 8000 for span in edges)


async def test_the_one_that_fails_has_the_error(members: list[MeshMember], exporter: Any) -> None:
    overflow = "case when $number = 2 and range = 5000 then 9223372036854775807 + range else range end"
    with pytest.raises(SqlError):
        await _run(members, f"select {overflow} as c1 from range(1000000)", _PARENT)
    await eventually(lambda: any("22003" in (span.status.description or "") for span in _named(exporter, "fragment")))


async def test_without_a_trace_there_are_none(members: list[MeshMember], exporter: Any) -> None:
    assert len(await _run(members, "select range as c1 from range(10)", "")) == 30
    assert exporter.get_finished_spans() == ()

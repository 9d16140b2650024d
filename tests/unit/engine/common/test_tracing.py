"""Spans and their contexts, with OpenTelemetry's SDK, which is an extra; and that tracing needs nothing of it while it
is off.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from engine.common import tracing

CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exported() -> Iterator[Any]:
    """The SDK's exporter in memory, to which spans go meanwhile."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.install(provider.get_tracer("test"))
    yield exporter
    tracing.install(None)
    provider.shutdown()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (CLIENT, CLIENT),
        (f"shop {CLIENT}; v2", CLIENT),
        (CLIENT.upper(), ""),
        (CLIENT[:-1], ""),
        (f"{CLIENT}0", ""),
        (CLIENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32), ""),
        (CLIENT.replace("b7ad6b7169203331", "0" * 16), ""),
        ("01" + CLIENT[2:], ""),
        ("psql", ""),
        ("", ""),
    ],
)
def test_a_traceparent_is_found(text: str, found: str) -> None:
    assert tracing.find_traceparent(text) == found


def test_a_span_is_a_child_of_who_is_named(exported: Any) -> None:
    span = tracing.begin("statement", CLIENT, at=100.0)
    assert span is not None
    inner = tracing.record("bind", span.traceparent, 100.5, {"n": 1}, ended=101.0)
    span.end({"rows": 3}, at=102.0, error="22012: division by zero")
    bind, statement = exported.get_finished_spans()
    assert (bind.name, statement.name) == ("bind", "statement")
    assert f"{statement.context.trace_id:032x}" == CLIENT.split("-")[1]
    assert f"{statement.parent.span_id:016x}" == CLIENT.split("-")[2]
    assert bind.parent.span_id == statement.context.span_id
    assert inner == f"00-{bind.context.trace_id:032x}-{bind.context.span_id:016x}-01"
    assert (bind.start_time, bind.end_time) == (100_500_000_000, 101_000_000_000)
    assert (statement.start_time, statement.end_time) == (100_000_000_000, 102_000_000_000)
    assert statement.status.description == "22012: division by zero"
    assert not statement.status.is_ok
    assert bind.status.description is None
    assert dict(statement.attributes) == {"rows": 3}


def test_what_the_client_does_not_sample_is_not_recorded(exported: Any) -> None:
    span = tracing.begin("statement", f"{CLIENT[:-2]}00")
    assert span is not None
    assert span.traceparent.endswith("-00")
    tracing.record("bind", span.traceparent, 1.0, {})
    span.end({})
    assert exported.get_finished_spans() == ()


def test_nothing_is_recorded_without_a_parent(exported: Any) -> None:
    assert tracing.record("fragment", "", 1.0, {}) == ""
    assert exported.get_finished_spans() == ()


def test_while_it_is_off_nothing_is_imported() -> None:
    code = (
        "import sys; from engine.common import tracing; import server.monitor.tracing_setup, server.monitor.spans\n"
        f"assert tracing.begin('statement', {CLIENT!r}) is None and tracing.record('x', {CLIENT!r}, 1.0, {{}}) == ''\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

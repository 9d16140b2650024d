"""Spans of real statements of a member in this process, collected by the SDK's exporter in memory; the SDK is an extra.

`tests/unit/engine/runtime/test_fragment_spans.py` tests the spans of several members.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.common import tracing

pytest.importorskip("opentelemetry.sdk")

CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
MARK = "swordfish"


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("spans")) as member:
        yield member


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


def _session(exporter: Any) -> Any:
    """The span of the only session, which is exported when the session has ended."""
    wait_until(lambda: bool(_named(exporter, "session")))
    [found] = _named(exporter, "session")
    return found


def test_a_session_its_statements_and_their_phases(sluice: LocalMember, exporter: Any) -> None:
    with sluice.connect(application_name=f"shop {CLIENT}") as connection:
        connection.execute("create table t as select n from generate_series(1, 10) n")
        connection.execute("select sum(n) from t")
    session = _session(exporter)
    assert f"{session.context.trace_id:032x}" == CLIENT.split("-")[1]
    assert f"{session.parent.span_id:016x}" == CLIENT.split("-")[2]
    created, asked = _named(exporter, "statement")
    assert {span.parent.span_id for span in (created, asked)} == {session.context.span_id}
    assert asked.attributes["db.statement"] == "select sum(n) from t"
    assert asked.attributes["sluice.engine"] == "local"
    assert asked.attributes["sluice.rows"] == 1
    assert asked.status.description is None
    phases = {span.name: span for span in exporter.get_finished_spans() if span.parent.span_id == asked.context.span_id}
    assert set(phases) >= {"bind", "plan", "compile", "run"}
    assert asked.start_time <= phases["bind"].start_time <= phases["plan"].start_time <= phases["run"].end_time
    assert phases["run"].end_time <= asked.end_time


def test_an_error_is_the_status(sluice: LocalMember, exporter: Any) -> None:
    with sluice.connect() as connection, pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("select 1 / 0")
    [failed] = _named(exporter, "statement")
    assert failed.status.description == "22012: division by zero"
    assert not failed.status.is_ok
    assert failed.attributes["sluice.state"] == "failed"
    assert failed.parent.span_id == _session(exporter).context.span_id


def test_a_statement_follows_the_setting(sluice: LocalMember, exporter: Any) -> None:
    with sluice.connect() as connection:
        connection.execute(f"set sluice.traceparent = '{CLIENT}'")
        connection.execute("select 1")
    [first, second] = _named(exporter, "statement")
    assert first.parent.span_id == _session(exporter).context.span_id
    assert f"{second.parent.span_id:016x}" == CLIENT.split("-")[2]


@pytest.mark.parametrize(
    "statement",
    [
        f"create role carl password '{MARK}'",
        f"alter role nobody password '{MARK}'",
        f"alter role carl password '{MARK}",
        f"select 1; alter role nobody password $${MARK}$$",
    ],
)
def test_no_span_has_a_password(sluice: LocalMember, exporter: Any, statement: str) -> None:
    with sluice.connect() as connection:
        try:
            connection.execute(statement)
        except psycopg.Error:
            assert statement.startswith(("alter", "select"))
    _session(exporter)
    assert _named(exporter, "statement")
    assert not any(MARK in span.to_json() for span in exporter.get_finished_spans())

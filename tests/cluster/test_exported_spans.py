"""Spans of three members, sent over OTLP to a collector: one trace, whose context the members pass on over the mesh.

The environment of `sluice cluster up` configures all members.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.local_cluster import LocalCluster
from support.member_process import wait_until
from support.numbers_cluster import members
from support.otlp_receiver import OtlpReceiver, otlp_receiver

pytest.importorskip("opentelemetry.sdk")

TRACE, CLIENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
WINDOWS = "select t, row_number() over (partition by t order by n) from numbers"


@pytest.fixture(scope="module")
def receiver() -> Iterator[OtlpReceiver]:
    with otlp_receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, receiver: OtlpReceiver) -> Iterator[LocalCluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_TRACING__ENDPOINT", receiver.endpoint)
        patch.setenv("SLUICE_TRACING__SERVICE", "shop-sql")
        # The command's own are the command's: no member may take this address, or that name.
        patch.setenv("SLUICE_LISTEN", "127.0.0.1:1")
        patch.setenv("SLUICE_MEMBER", "other")
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        with members(tmp_path_factory.mktemp("spans") / "c") as cluster:
            yield cluster


def test_a_distributed_statement_is_one_trace_of_all_members(cluster: LocalCluster, receiver: OtlpReceiver) -> None:
    with cluster.connect("m2", application_name=f"shop 00-{TRACE}-{CLIENT}-01") as connection:
        connection.execute("set sluice.distribution = always")
        connection.execute("set sluice.engine = local")
        assert len(connection.execute(WINDOWS).fetchall()) == 60_000
    wait_until(lambda: bool(receiver.named("session", TRACE)))
    wait_until(lambda: {span.service for span in receiver.named("fragment", TRACE)} == {"m1", "m2", "m3"})
    [session] = receiver.named("session", TRACE)
    assert (session.parent, session.service) == (CLIENT, "m2")
    statements = {span.id: span for span in receiver.named("statement", TRACE)}
    assert {span.parent for span in statements.values()} == {session.id}
    [query] = [span for span in statements.values() if span.attributes["db.statement"] == WINDOWS]
    fragments = {span.id: span for span in receiver.named("fragment", TRACE)}
    assert {span.parent for span in fragments.values()} == {query.id}
    # A scan and a window on each member, and the root.
    wait_until(lambda: len(receiver.named("fragment", TRACE)) == 7)
    wait_until(lambda: len(receiver.named("edge", TRACE)) == 6)
    fragments = {span.id: span for span in receiver.named("fragment", TRACE)}
    for edge in receiver.named("edge", TRACE):
        assert fragments[edge.parent].service == edge.service
        assert edge.attributes["sluice.bytes"] > 0
    assert {span.attributes["sluice.member"] for span in fragments.values()} == {"m1", "m2", "m3"}

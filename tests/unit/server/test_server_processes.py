"""The configurations of a server's processes, what they count together, and how a client's socket is handed over."""

from __future__ import annotations

import asyncio
import os
import resource
import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from pydantic import ValidationError
from support.session_server import eventually

from server.config.address import Address
from server.config.config import Config
from server.processes.configurations import process_configurations, process_count
from server.processes.counts import SharedCounts
from server.processes.dispatcher import Dispatcher
from server.processes.place import Place, hand_client
from wire.pg import messages as m


def _config(data: Path, **keys: object) -> Config:
    return Config.model_validate({"data": data, **keys})


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


def test_one_process_has_the_configuration_as_it_is(tmp_path: Path, held: ExitStack) -> None:
    config = _config(tmp_path)
    assert process_configurations(config, held) == [config]


def test_auto_is_a_process_for_each_core(tmp_path: Path) -> None:
    assert process_count(_config(tmp_path, processes="auto")) == len(os.sched_getaffinity(0))


def test_processes_are_members_of_one_cluster(tmp_path: Path, held: ExitStack) -> None:
    config = _config(tmp_path, processes=3, memory="6GB", local={"memory": "3GB"}, client_input_mb=300, member="node")
    first, second, third = process_configurations(config, held)
    assert [each.member for each in (first, second, third)] == ["node", "node.2", "node.3"]
    assert second.cluster.seeds == third.cluster.seeds == [first.mesh]
    assert first.mesh_secret() == second.mesh_secret() == third.mesh_secret() != b""
    engines = [each.engine() for each in (first, second, third)]
    assert {str(engine.catalog_location) for engine in engines} == {str(tmp_path / ".sluice" / "catalog.sqlite")}
    assert {engine.tables for engine in engines} == {tmp_path / "tables"}
    assert len({engine.private for engine in engines}) == 3
    assert {engine.memory_bytes for engine in engines} == {2 << 30}
    assert {each.client_input_mb for each in (first, second, third)} == {100}
    assert [engine.spark.member for engine in engines] == [None, "node", "node"]
    assert [engine.spark.start for engine in engines] == ["eager", "lazy", "lazy"]
    assert {each.settings["sluice.distribution"] for each in (first, second, third)} == {"off"}


def test_processes_with_an_external_master_share_an_application(tmp_path: Path, held: ExitStack) -> None:
    config = _config(tmp_path, processes=2, spark={"master": "spark://host:7077"})
    told = [
        (each.engine().spark.member, each.engine().spark.allocation) for each in process_configurations(config, held)
    ]
    assert told == [(None, "shared"), (None, "shared")]
    apart = _config(tmp_path, processes=2, member="node", spark={"master": "spark://host:7077", "share": False})
    told = [
        (each.engine().spark.member, each.engine().spark.allocation) for each in process_configurations(apart, held)
    ]
    assert told == [(None, "own"), ("node", "alone")]


def test_what_is_given_for_a_cluster_stays(tmp_path: Path, held: ExitStack) -> None:
    config = _config(
        tmp_path, processes=2, mesh="127.0.0.1:7999", cluster={"secret": "given", "seeds": ["127.0.0.1:7998"]},
        settings={"TimeZone": "UTC"}, catalog="shared.sqlite", console="127.0.0.1:8999",
    )  # fmt: skip
    first, second = process_configurations(config, held)
    assert (first.mesh, first.console) == ("127.0.0.1:7999", "127.0.0.1:8999")
    assert second.cluster.seeds == ["127.0.0.1:7999", "127.0.0.1:7998"]
    assert second.cluster.secret == "given"
    assert second.settings == {"TimeZone": "UTC"}
    assert first.engine().catalog_location == second.engine().catalog_location


def test_a_topology_names_its_members(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"processes: expected 1 with cluster\.topology"):
        _config(tmp_path, processes=2, cluster={"topology": str(tmp_path / "t.yaml")})


@pytest.mark.parametrize("given", ["nope", "0", 257, "1.5", True])
def test_a_number_that_is_none_is_named(tmp_path: Path, given: object) -> None:
    with pytest.raises(ValidationError, match=r"processes\n.*expected a number from 1 to 256, or auto"):
        _config(tmp_path, processes=given)


def test_counts_are_seen_by_other_processes() -> None:
    counts = SharedCounts(3)
    child = os.fork()
    if child == 0:
        counts.set_sessions(1, 5)
        counts.note_closed(1)
        counts.note_closed(1)
        os._exit(0)
    os.waitpid(child, 0)
    counts.set_sessions(0, 2)
    assert [counts.sessions_beside(number) for number in range(3)] == [5, 2, 7]
    assert counts.count_closed(1) == 2
    counts.reset(1)
    assert counts.sessions_beside(0) == counts.count_closed(1) == 0


async def test_a_client_is_handed_over() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    near, far = socket.socketpair()
    taken: asyncio.Queue[socket.socket] = asyncio.Queue()
    place = Place(0, theirs, [("127.0.0.1", 1)], SharedCounts(1))
    place.announce("ready")
    assert ours.recv(100) == b"ready"
    place.watch(taken.put_nowait)
    hand_client(ours, far)
    far.close()
    with await taken.get() as client:
        client.sendall(b"hello")
        assert near.recv(100) == b"hello"
    place.close()
    for each in (ours, theirs, near):
        each.close()


def test_a_member_that_ended_in_the_same_round_is_not_heard(tmp_path: Path) -> None:
    """Its end and that of its channel may be found at once, and the first of them closes the channel."""
    dispatcher = Dispatcher(Address("127.0.0.1", 0), [_config(tmp_path)], lambda _config, _place: 0)
    [process] = dispatcher._processes
    ours, theirs = socket.socketpair()
    with theirs, ours:
        process.channel, process.ready = ours, "ready"
        dispatcher._selector.register(ours, selectors.EVENT_READ)
        theirs.close()
        [(key, _)] = dispatcher._selector.select(10)
        dispatcher._close_channel(process)
        dispatcher._hear(process, key.fileobj)  # type: ignore[arg-type]
        assert process.channel is None
        assert process.ready == ""
    for each in (dispatcher._signals, dispatcher._wake, dispatcher._selector):
        each.close()


@pytest.fixture
def dispatcher(tmp_path: Path) -> Iterator[Dispatcher]:
    """A dispatcher of one member, which takes clients from a channel that nobody reads."""
    dispatcher = Dispatcher(Address("127.0.0.1", 0), [_config(tmp_path)], lambda _config, _place: 0)
    [process] = dispatcher._processes
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    process.channel, process.ready = ours, "ready"
    with ours, theirs:
        yield dispatcher
    for each in (dispatcher._signals, dispatcher._wake, *dispatcher._listening):
        each.close()
    dispatcher._selector.close()


def _refused(dispatcher: Dispatcher) -> bytes:
    """What a client is told that nobody takes; it has sent its startup packet."""
    near, far = socket.socketpair()
    with near:
        near.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")
        with far:
            dispatcher._hand(far)
        return near.recv(1000)


def test_a_client_is_told_that_every_member_has_its_hands_full(dispatcher: Dispatcher) -> None:
    [process] = dispatcher._processes
    assert process.channel is not None
    with suppress(BlockingIOError):
        while True:
            process.channel.send(b"c")
    expected = m.ErrorResponse("FATAL", "53300", "sorry, too many clients already")
    assert _refused(dispatcher) == expected.encode("UTF8")
    assert process.handed == 0


def test_a_client_is_told_that_no_member_is_ready(dispatcher: Dispatcher) -> None:
    [process] = dispatcher._processes
    process.ready = ""
    expected = m.ErrorResponse("FATAL", "57P03", "the database system is starting up")
    assert _refused(dispatcher) == expected.encode("UTF8")


def test_clients_wait_while_the_system_has_no_descriptors(
    dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    dispatcher._listening = [listening]
    # The member runs: nothing but the pause is waited for.
    dispatcher._processes[0].pid = os.getpid()
    dispatcher._set_accepting()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_connection(listening.getsockname()):
        [(key, _)] = dispatcher._selector.select(10)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
        try:
            key.data()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert "could not accept a client's connection" in caplog.text
        # The selector does not report the client again and again.
        assert listening not in [each.fileobj for each in dispatcher._selector.get_map().values()]
        assert dispatcher._seconds_to_wait() is not None
        dispatcher._paused_until = 1e-9
        dispatcher._accept_again()
        [(key, _)] = dispatcher._selector.select(10)
        key.data()
    assert dispatcher._processes[0].handed == 1
    assert dispatcher._seconds_to_wait() is None


async def test_a_client_that_is_lost_on_its_way_counts_as_closed() -> None:
    """The system drops a descriptor for which the member has no room, and the message comes without it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    place = Place(0, theirs, [("127.0.0.1", 1)], SharedCounts(1))
    place.watch(socket.socket.close)
    ours.send(b"c")
    await eventually(lambda: place.counts.count_closed(0) == 1)
    place.close()
    for each in (ours, theirs):
        each.close()

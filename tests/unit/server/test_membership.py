"""Membership: the state machine alone, on the test's own clock, and links over real sockets in one process."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import msgspec
import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as some
from support.session_server import eventually, open_files

from engine.contracts.mesh import MemberInfo
from engine.contracts.shared_spark import UNSHARED, Application, SharedSpark
from engine.exchange.listener import DataListener
from server.cluster.control_connection import ControlConnection
from server.cluster.membership import Membership, Timing
from server.cluster.membership_actions import Actions, Close, Dial, Log, Lost, Proceed, Say
from server.cluster.mesh_link import LinkOptions, MeshLink
from server.config.address import Address
from wire.mesh.control_messages import (
    Cancel,
    ControlMessage,
    Goodbye,
    Heartbeat,
    Identity,
    Members,
    Start,
    decode,
    encode,
)

TIMING = Timing(heartbeat=1, failure_after=5, forget_after=60)


def identity(member: str, incarnation: str = "1", mesh: str = "") -> Identity:
    return Identity(member, incarnation, mesh or f"{member}:1", f"{member}:2", "data", "0.1")


# -- a world of machines ------------------------------------------------------------------------------------------


@dataclass
class Wire:
    """A connection between two machines: (machine, its link number) at both ends. Bytes in each direction wait in order."""

    ends: list[tuple[Node, int]]
    queues: tuple[list[object], list[object]] = field(default_factory=lambda: ([], []))
    closed: bool = False


@dataclass(eq=False)
class Node:
    """A machine, and what its driver would hold for it."""

    world: World
    machine: Membership
    wires: dict[int, tuple[Wire, int]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    stopped: bool = False

    @property
    def name(self) -> str:
        return self.machine.me.member

    def states(self) -> dict[str, str]:
        return {m.id: m.state for m in self.machine.members(self.world.now) if not m.local}

    def perform(self, actions: Actions) -> None:
        for action in actions:
            match action:
                case Dial(link, address):
                    self.world.dials.append((self, link, address))
                case Proceed(link):
                    self.say(link, "proof")
                case Say(link, message):
                    self.say(link, message)
                case Close(link, goodbye):
                    if goodbye is not None:
                        self.say(link, goodbye)
                    self.hang_up(link)
                case Lost(member):
                    self.lost.append(member)
                case Log(_, text):
                    self.logged.append(text)

    def say(self, link: int, message: object) -> None:
        if link in self.wires:
            wire, end = self.wires[link]
            self.world.said[type(message)] += 1
            wire.queues[1 - end].append(message)

    def hang_up(self, link: int) -> None:
        if link in self.wires:
            self.say(link, "end")
            del self.wires[link]


class World:
    """Machines, the connections between them, and chance: in which order anything happens that may happen now."""

    def __init__(self, chance: Random) -> None:
        self.now = 0.0
        self.chance = chance
        self.nodes: list[Node] = []
        self.wires: list[Wire] = []
        self.dials: list[tuple[Node, int, str]] = []
        self.unreachable: set[tuple[str, str]] = set()
        self.said: Counter[type[object]] = Counter()

    def add(self, me: Identity, *seeds: str) -> Node:
        node = Node(self, Membership(me, seeds, TIMING, self.chance))
        self.nodes.append(node)
        node.perform(node.machine.start(self.now))
        return node

    def at(self, address: str) -> Node | None:
        return next((n for n in reversed(self.nodes) if n.machine.me.mesh == address), None)

    def kill(self, node: Node) -> None:
        self.nodes.remove(node)
        for link in list(node.wires):
            node.hang_up(link)

    def settle(self) -> None:
        """Until nothing is under way."""
        while self.step():
            pass

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.settle()
            self.now += 0.25
            for node in self.nodes:
                if not node.stopped:
                    node.perform(node.machine.tick(self.now))
        self.settle()

    def step(self) -> bool:
        wires = [(w, e) for w in self.wires for e in (0, 1) if w.queues[e] and not w.ends[e][0].stopped]
        choices = [*range(len(wires)), *range(-len(self.dials), 0)]
        if not choices:
            return False
        choice = self.chance.choice(choices)
        if choice < 0:
            self._dial(*self.dials.pop(choice))
        else:
            self._deliver(*wires[choice])
        return True

    def _dial(self, node: Node, link: int, address: str) -> None:
        other = self.at(address)
        if other is None or node not in self.nodes or (node.name, other.name) in self.unreachable:
            node.perform(node.machine.link_closed(link, "Connection refused", self.now))
        elif node.machine.links.connect(link):
            wire = Wire([(node, link), (other, other.machine.links.accept(self.now))])
            self.wires.append(wire)
            for end, (n, number) in enumerate(wire.ends):
                n.wires[number] = (wire, end)
                n.machine.links.connect(number)
            node.say(link, ("hello", node.machine.me))

    def _deliver(self, wire: Wire, end: int) -> None:
        (node, link), (peer, _) = wire.ends[end], wire.ends[1 - end]
        said = wire.queues[end].pop(0)
        if link not in node.wires or node not in self.nodes:
            return
        machine = node.machine
        machine.links.hear(link, self.now)
        match said:
            case "end":
                del node.wires[link]
                node.perform(machine.link_closed(link, "Connection reset", self.now))
            case ("hello", _):
                node.say(link, ("welcome", machine.me))
            case ("welcome", Identity() as who):
                node.perform(machine.peer_introduced(link, who, self.now))
            case "proof" if end == 1:
                node.perform(machine.peer_introduced(link, peer.machine.me, self.now))
            case "proof":
                node.perform(machine.link_established(link, self.now))
            case Heartbeat() | Goodbye() | _:
                assert isinstance(said, ControlMessage)
                node.perform(machine.message_received(link, said, self.now))


def up(*nodes: Node) -> bool:
    names = {n.name for n in nodes}
    return all(n.states() == dict.fromkeys(names - {n.name}, "up") for n in nodes)


def open_links(node: Node) -> int:
    return sum(link.open for link in node.machine.links.by_number.values())


worlds = some.randoms(use_true_random=False).map(World)


@settings(max_examples=150, deadline=None)
@given(worlds, some.integers(2, 6))
def test_members_that_know_one_seed_come_to_know_all(world: World, count: int) -> None:
    """Whatever the order: all are up, by one connection a pair, and nobody was ever thought lost."""
    nodes = [world.add(identity(f"m{i}"), "m0:1") for i in range(count)]
    world.run(15)
    assert up(*nodes)
    assert [open_links(n) for n in nodes] == [count - 1] * count
    assert [len(n.wires) for n in nodes] == [count - 1] * count
    assert [n.lost for n in nodes] == [[]] * count


@settings(max_examples=150, deadline=None)
@given(worlds)
def test_both_dial_at_once(world: World) -> None:
    ann, bob = world.add(identity("ann"), "bob:1"), world.add(identity("bob"), "ann:1")
    world.run(15)
    assert up(ann, bob)
    assert (open_links(ann), len(world.wires[-1].ends), ann.lost, bob.lost) == (1, 2, [], [])


@settings(max_examples=100, deadline=None)
@given(worlds, some.lists(some.integers(0, 2), max_size=12))
def test_connections_break_and_come_back(world: World, breaks: Sequence[int]) -> None:
    """Each loss is reported once, at both ends, and in the end all are up again."""
    nodes = [world.add(identity(f"m{i}"), "m0:1") for i in range(3)]
    world.run(10)
    for number in breaks:
        node = nodes[number]
        for link in list(node.wires):
            node.hang_up(link)
            node.perform(node.machine.link_closed(link, "cut", world.now))
        for _ in range(world.chance.randrange(20)):
            world.step()
    world.run(15)
    assert up(*nodes)
    assert [open_links(n) for n in nodes] == [2, 2, 2]


def test_of_two_peers_that_only_the_earlier_one_can_dial_it_is_told() -> None:
    """It is told within a heartbeat, not with the whole list much later."""
    world = World(Random(1))
    world.unreachable.add(("cid", "bob"))
    ann, bob = world.add(identity("ann")), world.add(identity("bob"), "ann:1")
    world.run(10)
    cid = world.add(identity("cid"), "ann:1")
    world.run(TIMING.heartbeat + 1)
    assert up(ann, bob, cid)


def test_members_know_of_each_others_spark() -> None:
    """At once when they meet, and then with each heartbeat."""
    world = World(Random(1))
    ann = world.add(identity("ann"))
    ann.machine.spark = SharedSpark("key", Application.READY)
    bob = world.add(identity("bob"), "ann:1")
    world.settle()
    assert [m.spark for m in bob.machine.members(world.now)] == [ann.machine.spark, UNSHARED]
    ann.machine.spark = SharedSpark("key", Application.STARTING, "executors", failed=True)
    world.run(TIMING.heartbeat + 1)
    assert [m.spark for m in bob.machine.members(world.now)] == [ann.machine.spark, UNSHARED]


def test_lists_of_members_grow_with_the_pairs_when_all_start_at_once() -> None:
    """A list for each end of a connection, and one for the new peers of each of the few heartbeats of the start."""
    count = 20
    world = World(Random(1))
    nodes = [world.add(identity(f"m{i}"), "m0:1") for i in range(count)]
    world.run(10)
    assert up(*nodes)
    assert world.said[Members] <= 3 * count * (count - 1)


def trio() -> tuple[World, Node, Node, Node]:
    world = World(Random(1))
    nodes = [world.add(identity(name), "ann:1") for name in ("ann", "bob", "cid")]
    world.run(10)
    assert up(*nodes)
    return world, *nodes  # type: ignore[return-value]


def test_a_killed_member_is_lost_at_once_and_forgotten_later() -> None:
    world, ann, bob, cid = trio()
    world.kill(cid)
    world.settle()
    assert (ann.states(), bob.states()) == ({"bob": "up", "cid": "lost"}, {"ann": "up", "cid": "lost"})
    assert (ann.lost, bob.lost) == (["cid"], ["cid"])
    world.run(61)
    assert up(ann, bob)
    assert sum("cannot join" in text for text in bob.logged) == 1


def test_a_silent_member_is_suspect_then_lost_and_comes_back() -> None:
    world, ann, bob, cid = trio()
    cid.stopped = True
    world.run(3)
    assert ann.states() == {"bob": "up", "cid": "suspect"}
    assert ann.lost == []
    world.run(3)
    assert ann.states() == {"bob": "up", "cid": "lost"}
    world.run(10)
    cid.stopped = False
    world.run(10)
    assert up(ann, bob, cid)
    assert (ann.lost, bob.lost, sorted(cid.lost)) == (["cid"], ["cid"], ["ann", "bob"])


def test_who_was_away_does_not_blame_the_others() -> None:
    world, ann, bob, _ = trio()
    ann.stopped = True
    world.run(2.75)
    ann.stopped = False
    world.now += 4
    ann.perform(ann.machine.tick(world.now))
    assert ann.lost == []
    assert bob.states()["ann"] == "suspect"


def test_a_restarted_member_takes_its_place() -> None:
    world, ann, bob, cid = trio()
    world.kill(cid)
    again = world.add(identity("cid", "2", "cid:9"), "ann:1")
    world.run(10)
    assert up(ann, bob, again)
    assert {m.incarnation for m in ann.machine.members(world.now) if m.id == "cid"} == {"2"}
    assert (ann.lost, bob.lost) == (["cid"], ["cid"])


def test_a_restarted_member_at_the_same_address_needs_no_farewell_of_the_old_one() -> None:
    world, ann, _, cid = trio()
    cid.stopped = True
    world.nodes.remove(cid)
    world.add(identity("cid", "2"), "ann:1")
    world.run(2)
    assert ann.states()["cid"] == "up"
    assert ann.lost == ["cid"]


def test_the_later_of_two_with_one_name_is_refused() -> None:
    world, ann, bob, cid = trio()
    false = world.add(identity("cid", "2", "elsewhere:1"), "ann:1")
    same = world.add(identity("ann", "2", "elsewhere:2"), "bob:1", "ann:1")
    world.run(30)
    assert up(ann, bob, cid)
    assert (false.states(), same.states()) == ({}, {})
    told = 'the name "cid" of elsewhere:1 is taken: cid:1 is in the cluster under it'
    assert any(told in text for text in ann.logged)
    assert sum(told in text for text in false.logged) == 1
    assert any('the name "ann" of elsewhere:2 is taken' in text for text in same.logged)
    world.kill(cid)
    world.run(10)
    assert up(ann, bob, false)


def test_leaving_is_not_being_lost_sight_of() -> None:
    world, ann, bob, cid = trio()
    cid.perform(cid.machine.leave())
    world.settle()
    assert (ann.states(), ann.lost, bob.lost) == ({"bob": "up", "cid": "left"}, ["cid"], ["cid"])
    world.kill(cid)
    world.run(61)
    assert up(ann, bob)
    assert not any("cannot join" in text for text in ann.logged + bob.logged)


def test_draining_is_told_to_those_who_are_there_and_to_those_who_come() -> None:
    world, ann, bob, cid = trio()
    cid.machine.load = 7
    cid.perform(cid.machine.drain())
    late = world.add(identity("dee"), "bob:1")
    world.run(3)
    assert [n.states()["cid"] for n in (ann, bob, late)] == ["draining"] * 3
    assert [m.load for m in late.machine.members(world.now) if m.id == "cid"] == [7]
    assert [m.state for m in cid.machine.members(world.now) if m.local] == ["draining"]


def test_a_member_may_be_its_own_seed() -> None:
    world = World(Random(1))
    ann = world.add(identity("ann"), "ann:1", "nobody:1")
    world.run(20)
    assert ann.states() == {}
    assert (ann.wires, len(ann.logged)) == ({}, 1)


def test_a_seed_that_comes_late_is_joined() -> None:
    world = World(Random(1))
    bob = world.add(identity("bob"), "ann:1")
    world.run(100)
    ann = world.add(identity("ann"))
    world.run(10)
    assert up(ann, bob)


def test_those_who_forgot_each_other_hear_of_each_other_again() -> None:
    world, ann, bob, cid = trio()
    bob.machine.known.by_name.pop("cid")
    cid.machine.known.by_name.pop("bob")
    for node in (bob, cid):
        for link in [n for n, x in node.machine.links.by_number.items() if x.peer and x.peer.member in ("bob", "cid")]:
            del node.machine.links.by_number[link]
            node.hang_up(link)
    world.run(40)
    assert up(ann, bob, cid)


def test_a_large_cluster_is_told_in_parts_that_fit() -> None:
    """Names and addresses as long as they may be."""
    ann = World(Random(1)).add(identity("ann"))
    names = [f"{n:0>63}" for n in range(200)]
    for name in names:
        link = ann.machine.links.accept(0)
        peer = Identity(name, name, f"{name}{'x' * 194}:1", "y" * 262, "data", "z" * 63)
        told = [a.message for a in ann.machine.peer_introduced(link, peer, 0) if isinstance(a, Say) and a.link == link]
    parts = [message for message in told if isinstance(message, Members)]
    assert [m.member for part in parts for m in part.members] == names[:-1]
    assert len(parts) == 4
    assert all(decode(69, encode(part)[8:]) == part for part in parts)


def test_strangers_are_counted() -> None:
    machine = World(Random(1)).add(identity("ann")).machine
    links = [machine.links.accept(0) for _ in range(3)]
    machine.peer_introduced(links[0], identity("bob"), 0)
    machine.link_closed(links[1], "gone", 0)
    assert machine.links.strangers == 1


# -- links over sockets -------------------------------------------------------------------------------------------


class Member:
    """A listener and its links, as `server.member` has them."""

    def __init__(self, name: str, *seeds: str, secret: bytes = b"s", timing: Timing | None = None) -> None:
        self.me = identity(name, f"{name}-1")
        options = LinkOptions(secret=secret, seeds=seeds, timing=timing or Timing(0.05, 2.0, 60.0))
        self.load = 0
        self.listener = DataListener()
        self.link = MeshLink(self.me, options, lambda: self.load, parse)
        self.heard: list[tuple[str, ControlMessage, bytes]] = []
        self.lost: list[str] = []
        self.link.listen(lambda *said: self.heard.append(said), self.lost.append)

    async def start(self) -> Member:
        await self.listener.start()
        self.listener.admit_control(self.link.accept)
        self.link.start(msgspec.structs.replace(self.me, mesh=self.address))
        return self

    @property
    def address(self) -> str:
        return str(Address(*self.listener.address))

    def states(self) -> dict[str, str]:
        return {m.id: m.state for m in self.link.members() if not m.local}

    def info(self, name: str) -> MemberInfo:
        return next(m for m in self.link.members() if m.id == name)

    async def close(self) -> None:
        await self.link.close()
        await self.listener.close()
        assert self.link.statistics() == {"connections": 0, "dials": 0}


def parse(address: str) -> tuple[str, int]:
    found = Address.parse(address)
    return found.host, found.port


@asynccontextmanager
async def room() -> AsyncIterator[list[Member]]:
    """Members that are closed at the end, leaving neither a task nor a socket."""
    tasks, files = asyncio.all_tasks(), open_files()
    members: list[Member] = []
    try:
        yield members
    finally:
        for member in members:
            await member.close()
        await asyncio.get_running_loop().shutdown_default_executor()
    assert asyncio.all_tasks() == tasks
    await eventually(lambda: open_files() == files)


async def pair(members: list[Member]) -> tuple[Member, Member]:
    ann = await Member("ann").start()
    bob = await Member("bob", ann.address).start()
    members += [ann, bob]
    await eventually(lambda: ann.states() == {"bob": "up"} and bob.states() == {"ann": "up"})
    return ann, bob


async def test_messages_arrive_in_order_with_their_bodies() -> None:
    async with room() as members:
        ann, bob = await pair(members)
        body = bytes(range(256)) * 40_000
        for number in range(100):
            assert ann.link.send("bob", Cancel(f"ann:{number}", "ann", "57014", "canceled"))
        assert bob.link.send("ann", Start("bob:1", ("bob", "ann")), body)
        await eventually(lambda: len(bob.heard) == 100 and ann.heard)
        assert [m.query for _, m, _ in bob.heard if isinstance(m, Cancel)] == [f"ann:{n}" for n in range(100)]
        assert ann.heard == [("bob", Start("bob:1", ("bob", "ann")), body)]
        assert not ann.link.send("nobody", Heartbeat(0, False))


async def test_load_and_draining_are_known_to_the_others() -> None:
    async with room() as members:
        ann, bob = await pair(members)
        bob.load = 3
        await eventually(lambda: ann.info("bob").load == 3)
        bob.link.drain()
        await eventually(lambda: ann.states() == {"bob": "draining"})
        assert (ann.info("ann").local, ann.info("bob").local) == (True, False)


async def test_a_member_that_ends_has_left() -> None:
    async with room() as members:
        ann, bob = await pair(members)
        await bob.close()
        members.remove(bob)
        await eventually(lambda: ann.states() == {"bob": "left"})
        assert ann.lost == ["bob"]
        assert not ann.link.send("bob", Heartbeat(0, False))


async def test_a_broken_connection_is_lost_at_once_and_made_anew() -> None:
    async with room() as members:
        ann, bob = await pair(members)
        for connection in list(ann.link._connections.values()):
            assert connection._transport is not None
            connection._transport.abort()
        await eventually(lambda: ann.lost == ["bob"] and bob.lost == ["ann"])
        await eventually(lambda: ann.states() == {"bob": "up"} and bob.states() == {"ann": "up"})
        assert ann.link.send("bob", Start("ann:1", ("ann",)))
        await eventually(lambda: bob.heard)


async def test_a_wrong_secret_is_refused_on_both_sides(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with room() as members:
        ann, bob = await pair(members)
        eve = await Member("eve", ann.address, secret=b"guess").start()
        members.append(eve)
        await eventually(lambda: "we are refused (secret)" in caplog.text)
        assert "a member that connected is refused: eve does not know the secret of cluster sluice" in caplog.text
        assert (eve.states(), ann.states()) == ({}, {"bob": "up"})
        assert bob.lost == ann.lost == []


@pytest.mark.parametrize("said", [b"GET / HTTP/1.0\r\n\r\n", b"sluice\0\1\0\x40\0\5\0\0\0\0hello", b"sluice\0\1\0\x40"])
async def test_strangers_disturb_nobody(said: bytes) -> None:
    async with room() as members:
        ann, bob = await pair(members)
        _, writer = await asyncio.open_connection(*ann.listener.address)
        writer.write(said)
        await writer.drain()
        assert ann.link.send("bob", Start("ann:1", ("ann",)))
        await eventually(lambda: bob.heard)
        writer.close()
        await eventually(lambda: ann.link.statistics()["connections"] == 1)
        assert ann.lost == bob.lost == []


async def test_closing_while_dialling_leaves_nothing() -> None:
    """However far the attempt has come."""
    for turns in range(15):
        async with room() as members:
            silent = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
            host, port = silent.sockets[0].getsockname()
            members += [await Member(f"m{i}", f"{host}:{port}", "127.0.0.1:1").start() for i in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for member in members:
                await member.close()
            silent.close()
            await silent.wait_closed()


async def test_an_attempt_that_is_given_up_as_it_succeeds_leaves_nothing() -> None:
    """Some loops do not tell a connection whose making is cancelled that it is lost."""
    async with room() as members:
        ann = await Member("ann").start()
        bob = Member("bob", ann.address)
        members += [ann, bob]
        reached: list[ControlConnection] = []
        connected = bob.link.connection_ready

        def connect_and_cancel(connection: ControlConnection) -> bool:
            reached.append(connection)
            if len(reached) <= 3:
                asyncio.get_running_loop().call_soon(bob.link._dials.tasks[connection.number].cancel)
            return connected(connection)

        bob.link.connection_ready = connect_and_cancel  # type: ignore[method-assign]
        await bob.start()
        await eventually(lambda: ann.states() == {"bob": "up"} and bob.states() == {"ann": "up"})
        assert len(reached) > 3
        await eventually(lambda: bob.link.statistics() == {"connections": 1, "dials": 0})


@pytest.mark.parametrize(
    "flow",
    [
        test_messages_arrive_in_order_with_their_bodies,
        test_a_member_that_ends_has_left,
        test_a_broken_connection_is_lost_at_once_and_made_anew,
        test_closing_while_dialling_leaves_nothing,
        test_an_attempt_that_is_given_up_as_it_succeeds_leaves_nothing,
    ],
    ids=lambda flow: flow.__name__.removeprefix("test_"),
)
def test_on_the_loop_that_members_run_on(flow: Callable[[], Coroutine[None, None, None]]) -> None:
    uvloop.run(flow())

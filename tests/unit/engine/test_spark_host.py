"""The member that hosts the Spark application that members share."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from engine.contracts.mesh import MemberInfo
from engine.contracts.shared_spark import Application, SharedSpark, key_of
from engine.contracts.spark_host import host_of
from wire.mesh.control_messages import Heartbeat

_KEY = key_of("spark://host:7077")


def member(name: str, application: Application = Application.NONE, **changes: object) -> MemberInfo:
    info = MemberInfo(name, "1", "", "", "data", "up", 0, "", spark=SharedSpark(_KEY, application))
    return replace(info, **changes)  # type: ignore[arg-type]


def host(*members: MemberInfo) -> str | None:
    found = host_of(members, _KEY)
    return None if found is None else found.id


def test_it_has_the_smallest_name() -> None:
    assert host(member("b"), member("a"), member("c")) == "a"


def test_the_application_that_has_come_furthest_stays() -> None:
    a, b, c = member("a"), member("b", Application.STARTING), member("c", Application.READY)
    assert host(a, b) == "b"
    assert host(a, b, c) == "c"
    assert host(member("a", Application.READY), c) == "a"


def test_a_member_that_could_not_start_it_is_passed_over() -> None:
    failed = SharedSpark(_KEY, failed=True)
    a = member("a", spark=failed)
    assert host(a, member("b")) == "b"
    assert host(a, member("b", spark=failed)) == "a"
    assert host(replace(a, spark=SharedSpark(_KEY, Application.STARTING, failed=True)), member("b")) == "a"


def test_only_members_that_are_up_with_the_same_master() -> None:
    a = member("a", Application.READY)
    b = member("b")
    assert host(replace(a, state="suspect"), b) == "a"
    assert host(replace(a, state="lost"), b) == "b"
    assert host(replace(a, state="draining"), b) == "b"
    assert host(replace(a, role="lite"), b) == "b"
    assert host(replace(a, spark=SharedSpark(key_of("yarn"), Application.READY)), b) == "b"
    assert host(replace(b, state="lost")) is None


def test_a_member_that_drains_goes_on_with_its_own() -> None:
    draining = member("b", Application.READY, state="draining", local=True)
    assert host(member("a"), draining) == "b"
    assert host(member("a"), replace(draining, spark=SharedSpark(_KEY))) == "a"


class OlderHeartbeat(msgspec.Struct, array_like=True):
    """A heartbeat as the first builds of version 6 have it."""

    load: int
    draining: bool


def test_heartbeats_of_older_builds_share_none() -> None:
    older = msgspec.msgpack.encode(OlderHeartbeat(3, False))
    assert msgspec.msgpack.decode(older, type=Heartbeat) == Heartbeat(3, False, "", 0)
    newer = msgspec.msgpack.encode(Heartbeat(3, False, _KEY, Application.READY))
    assert msgspec.msgpack.decode(newer, type=OlderHeartbeat) == OlderHeartbeat(3, False)

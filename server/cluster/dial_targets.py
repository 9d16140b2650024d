"""The addresses that a member dials: seeds, and the addresses of members that it has lost or has only heard of from
others.

A lost connection is dialled again at once, then with growing pauses; seeds are dialled for ever
(`server.cluster.membership`).
"""

from __future__ import annotations

import logging
from collections.abc import Container
from random import Random
from typing import Final

from server.cluster.member_table import MemberTable
from server.cluster.membership_actions import Actions, Log
from wire.dataclass import dataclass
from wire.mesh.control_messages import Identity

_PAUSE_SECONDS_MIN: Final = 0.1
_PAUSE_SECONDS_MAX: Final = 5.0


@dataclass(slots=True)
class DialTarget:
    """An address to dial. member: the member that answered there last. told: the message that was logged about it
    last.
    """

    address: str
    seed: bool = False
    member: str | None = None
    own: bool = False
    failures: int = 0
    next_at: float = 0.0
    told: str = ""


class DialTargets:
    """See the module's docstring. members: the known members. chance: randomizes the pauses."""

    def __init__(self, members: MemberTable, chance: Random) -> None:
        self._members = members
        self._chance = chance
        self._by_address: dict[str, DialTarget] = {}

    def add_seed(self, address: str) -> None:
        self._by_address[address] = DialTarget(address, seed=True)

    def note_own(self, address: str) -> None:
        """Note that this member itself has answered at the address."""
        if (target := self._by_address.get(address)) is not None:
            target.own = True

    def note_answer(self, address: str, member: str) -> None:
        if (target := self._by_address.get(address)) is not None:
            target.member = member

    def reach(self, peer: Identity, reached: str | None) -> None:
        """Record the addresses at which to dial a connected member if it is lost: seeds, and its current address."""
        for address, target in list(self._by_address.items()):
            if target.member == peer.member and not target.seed and address != peer.mesh:
                del self._by_address[address]
        for address in {peer.mesh, reached or peer.mesh}:
            target = self._by_address.setdefault(address, DialTarget(address))
            target.member, target.failures, target.told = peer.member, 0, ""

    def lose(self, member: str, now: float) -> None:
        """Make the addresses of a lost member due at once."""
        for target in self._by_address.values():
            if target.member == member:
                target.next_at = now

    def learn(self, identity: Identity, now: float) -> None:
        """Add the address of a member to which another member is connected."""
        target = self._by_address.setdefault(identity.mesh, DialTarget(identity.mesh))
        target.member = identity.member
        target.next_at = min(target.next_at, now)

    def refuse(self, address: str, now: float) -> None:
        """Note that the member at an address was refused; another one may be there later."""
        if (target := self._by_address.get(address)) is not None:
            self._pause(target, now, longest=True)

    def fail(self, address: str, reason: str, now: float, level: int) -> Actions:
        """Note that an attempt has failed. Each reason is logged once."""
        target = self._by_address.get(address)
        if target is None:
            return []
        self._pause(target, now, longest=level >= logging.ERROR)
        if target.told == reason or level < logging.INFO:
            return []
        target.told = reason
        return [Log(level, f"cannot join the member at {address}: {reason}; trying on")]

    def forget(self, member: str) -> None:
        for address, target in list(self._by_address.items()):
            if target.member == member and not target.seed:
                del self._by_address[address]

    def due(self, under_way: Container[str | None], now: float) -> list[DialTarget]:
        """Return the addresses to dial now. under_way: those that are being dialled."""
        return [
            target
            for target in self._by_address.values()
            if target.address not in under_way and now >= target.next_at and self._is_wanted(target)
        ]

    def _is_wanted(self, target: DialTarget) -> bool:
        if target.own:
            return False
        record = self._members.by_name.get(target.member) if target.member is not None else None
        if record is None:
            return True
        return record.link is None and (target.seed or record.state != "left")

    def _pause(self, target: DialTarget, now: float, *, longest: bool) -> None:
        pause = _PAUSE_SECONDS_MAX if longest else min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2**target.failures)
        target.failures = min(target.failures + 1, 16)
        target.next_at = now + pause * self._chance.uniform(0.5, 1.0)

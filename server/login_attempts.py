"""How often logins may fail: by address and by role, before a password is looked at.

Each failure fills a bucket that leaks: a bucket of `most` failures is empty again a minute after the last one. While it is full,
attempts are refused before anything is computed for them, and do not fill it further. Failures count in two buckets, that of the
address and that of the role's name, which need not be a role's: refusals tell nothing of which roles there are.

Whoever fails as a role on purpose must not lock out its owner: a role that has logged in from an address has a bucket of its own
there, and neither failures as others from that address nor failures as that role from elsewhere count in it.

Memory is bounded: of each kind so many keys are kept, those that were used last. An IPv6 address counts as its network of 64 bits,
of which whoever has one address has all.

Considered and rejected: to lock a role after so many failures until somebody unlocks it, which is a way to lock out others; to
count attempts that have begun, which refuses pools that open many connections at once with the right password.
"""

from __future__ import annotations

import ipaddress
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Final, TypeVar

from wire.dataclass import dataclass
from wire.errors import InvalidAuthorizationSpecification

log: Final = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")

#: How long a full bucket takes to be empty.
_LEAK_SECONDS: Final = 60.0
#: Keys of each kind that are kept.
KEYS_MAX: Final = 10_000
#: Characters of a name that count: NAMEDATALEN.
_NAME_LENGTH: Final = 63
_NETWORK_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class FailureLimits:
    """Failures within a minute that are borne; 0: any number. address: from one; role: as one, wherever they come from."""

    address: int = 0
    role: int = 0


@dataclass(slots=True)
class _Bucket:
    """level: how full it was, at a time. logged: when the log was told that it is full."""

    level: float
    at: float
    logged: float = -math.inf


class _Recent(OrderedDict[K, V]):
    """Keeps the values of the `KEYS_MAX` keys that were kept last."""

    def keep(self, key: K, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > KEYS_MAX:
            self.popitem(last=False)


class _Buckets:
    """Buckets by key, of which the ones used last are kept."""

    def __init__(self) -> None:
        self._kept: _Recent[Hashable, _Bucket] = _Recent()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable, most: int, now: float) -> _Bucket:
        """The bucket with its level as of now; it is kept once a failure fills it."""
        bucket = self._kept.get(key)
        if bucket is None:
            return _Bucket(0.0, now)
        leaked = (now - bucket.at) * most / _LEAK_SECONDS
        bucket.level, bucket.at = max(0.0, bucket.level - leaked), now
        return bucket

    def fill(self, key: Hashable, most: int, now: float) -> None:
        bucket = self.find(key, most, now)
        bucket.level = min(bucket.level + 1, float(most))
        self._kept.keep(key, bucket)


class LoginAttempts:
    """See the module's docstring. clock: seconds that only grow. failed_count, refused_count: so far."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._addresses, self._roles, self._pairs = _Buckets(), _Buckets(), _Buckets()
        self._proved: _Recent[tuple[str, str], None] = _Recent()
        self.failed_count = self.refused_count = 0

    def __len__(self) -> int:
        """How many keys are kept."""
        return len(self._addresses) + len(self._roles) + len(self._pairs) + len(self._proved)

    def require(self, host: str, user: str, limits: FailureLimits) -> None:
        """Raises InvalidAuthorizationSpecification where too many attempts have failed. host: the client's address."""
        now = self._clock()
        for buckets, key, most, what in self._counted(host, user, limits):
            bucket = buckets.find(key, most, now)
            if bucket.level > most - 1:
                self.refused_count += 1
                seconds = math.ceil((bucket.level - (most - 1)) * _LEAK_SECONDS / most)
                if now - bucket.logged >= _LEAK_SECONDS:
                    bucket.logged = now
                    log.warning("logins %s are refused: %d have failed within %g s", what, most, _LEAK_SECONDS)
                raise InvalidAuthorizationSpecification(
                    f"too many failed logins {what}", hint=f"Try again in {seconds} s."
                )

    def failed(self, host: str, user: str, limits: FailureLimits) -> None:
        """Count a password that was wrong."""
        now = self._clock()
        self.failed_count += 1
        for buckets, key, most, _ in self._counted(host, user, limits):
            buckets.fill(key, most, now)

    def succeeded(self, host: str, user: str) -> None:
        """Note that a role has proved itself from an address."""
        self._proved.keep((_network(host), user[:_NAME_LENGTH]), None)

    def _counted(self, host: str, user: str, limits: FailureLimits) -> Iterator[tuple[_Buckets, Hashable, int, str]]:
        """The buckets in which an attempt counts: their key, what they hold, and what messages call them."""
        address, name = _network(host), user[:_NAME_LENGTH]
        if (address, name) in self._proved:
            if limits.address:
                yield self._pairs, (address, name), limits.address, f"from {address} as {name!r}"
            return
        if limits.address:
            yield self._addresses, address, limits.address, f"from {address}"
        if limits.role:
            yield self._roles, name, limits.role, f"as {name!r}"


def _network(host: str) -> str:
    """What counts as one address: itself, or an IPv6 network. A socket in a folder has none."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, _NETWORK_BITS), strict=False))

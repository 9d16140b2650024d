"""Limits on failed logins, by client address and by role. They are checked before a password is verified.

Each limit is a leaky bucket. A failed login adds one to the bucket; a bucket that holds `most` failures is empty again a minute
after the last one. While the bucket is full, login attempts are refused before anything is computed for them, and do not add to
it. A failure counts in two buckets: that of the address and that of the role name. The name need not be that of an existing role,
so refusals do not disclose which roles exist.

Deliberate failures as a role must not lock out its owner: a role that has logged in from an address has a separate bucket for
this address. Neither failures as other roles from the address nor failures as the role from other addresses count in it.

Memory is bounded: `KEYS_MAX` keys of each kind are kept, the most recently used ones. An IPv6 address counts as its network of 64
bits, since whoever has one address of the network has all of them.

Considered and rejected: locking a role after a number of failures until an administrator unlocks it, since anyone could then lock
out others; counting attempts when they begin, since this would refuse connection pools that open many connections at once with
the right password.
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

#: The time in which a full bucket becomes empty.
_LEAK_SECONDS: Final = 60.0
#: The number of keys of each kind that are kept.
KEYS_MAX: Final = 10_000
#: Significant characters of a name: NAMEDATALEN.
_NAME_LENGTH: Final = 63
_NETWORK_BITS: Final = 64


class TooManyFailedLogins(InvalidAuthorizationSpecification):
    """A login that is refused before its password is checked. Only the first of a minute is logged, so that continued
    guessing does not fill the log.
    """


@dataclass(frozen=True, slots=True)
class FailureLimits:
    """The number of failures within a minute that are allowed; 0: no limit. address: from one address. role: as one role, from
    any address."""

    address: int = 0
    role: int = 0


@dataclass(slots=True)
class _Bucket:
    """level: the number of failures that it held at the time `at`. logged: when the log last reported that it is full."""

    level: float
    at: float
    logged: float = -math.inf


class _Recent(OrderedDict[K, V]):
    """Keeps the values of the `KEYS_MAX` keys that were used most recently."""

    def find(self, key: K) -> V | None:
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value

    def keep(self, key: K, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > KEYS_MAX:
            self.popitem(last=False)


class _Buckets:
    """Buckets by key, of which the most recently used ones are kept."""

    def __init__(self) -> None:
        self._kept: _Recent[Hashable, _Bucket] = _Recent()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable, most: int, now: float) -> _Bucket:
        """Return the bucket with its level as of now. A new bucket is kept only when a failure is added to it."""
        bucket = self._kept.find(key)
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
    """See the module's docstring. clock: monotonic, in seconds. failed_count, refused_count: totals since the start."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._addresses, self._roles, self._pairs = _Buckets(), _Buckets(), _Buckets()
        self._proved: _Recent[tuple[str, str], None] = _Recent()
        self.failed_count = self.refused_count = 0

    def __len__(self) -> int:
        """Return the number of keys that are kept."""
        return len(self._addresses) + len(self._roles) + len(self._pairs) + len(self._proved)

    def require(self, host: str, user: str, limits: FailureLimits) -> None:
        """Raise TooManyFailedLogins if too many attempts have failed. host: the client's address."""
        now = self._clock()
        for buckets, key, most, what in self._buckets_of(host, user, limits):
            bucket = buckets.find(key, most, now)
            if bucket.level > most - 1:
                self.refused_count += 1
                seconds = math.ceil((bucket.level - (most - 1)) * _LEAK_SECONDS / most)
                if now - bucket.logged >= _LEAK_SECONDS:
                    bucket.logged = now
                    log.warning("logins %s are refused: %d have failed within %g s", what, most, _LEAK_SECONDS)
                raise TooManyFailedLogins(f"too many failed logins {what}", hint=f"Try again in {seconds} s.")

    def record_failure(self, host: str, user: str, limits: FailureLimits) -> None:
        """Count a wrong password."""
        now = self._clock()
        self.failed_count += 1
        for buckets, key, most, _ in self._buckets_of(host, user, limits):
            buckets.fill(key, most, now)

    def record_success(self, host: str, user: str) -> None:
        """Note that a role has authenticated from an address."""
        self._proved.keep((_network(host), user[:_NAME_LENGTH]), None)

    def _buckets_of(self, host: str, user: str, limits: FailureLimits) -> Iterator[tuple[_Buckets, Hashable, int, str]]:
        """Yield the buckets in which an attempt counts: the collection, the key, the limit, and the wording for messages."""
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
    """Return the key under which an address counts: the IPv4 address itself, or the network of an IPv6 address. The host of a
    Unix-domain socket is no address and is returned as it is."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, _NETWORK_BITS), strict=False))

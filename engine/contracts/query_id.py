"""The names of a running query and of the engine that runs it."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator
from typing import Final, Literal

from wire.dataclass import dataclass

EngineName = Literal["local", "spark"]
#: A query's number fits in an int8, however many follow the first.
_NUMBER_BITS: Final = 62


@dataclass(frozen=True, slots=True)
class QueryId:
    """A cluster-wide id of a running query (network-protocol seed, 3.1). It is printed as `initiator:local`, and parsed
    back.
    """

    initiator: str
    local: int

    def __str__(self) -> str:
        return f"{self.initiator}:{self.local}"

    @classmethod
    def parse(cls, token: str) -> QueryId:
        initiator, separator, local = token.rpartition(":")
        if not separator or not initiator or not local.isdecimal():
            raise ValueError(f"not a query id: {token!r}")
        return cls(initiator, int(local))


def query_ids(member: str) -> Iterator[QueryId]:
    """Yield new ids of a member's queries without end.

    Numbers are not reused after a restart, whatever the clock says by then: each start begins at a random number. The
    probability that two of them, each of a thousand million queries, overlap is less than one in a thousand million.
    """
    return (QueryId(member, number) for number in itertools.count(secrets.randbits(_NUMBER_BITS)))

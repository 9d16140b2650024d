"""The names of a running query and of the engine that runs it."""

from __future__ import annotations

from typing import Literal

from wire.dataclass import dataclass

EngineName = Literal["local", "spark"]


@dataclass(frozen=True, slots=True)
class QueryId:
    """Cluster-wide id of a running query (network-protocol seed, 3.1). Printed as `initiator:local`, parsed back."""

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

"""One Spark application for the members of a cluster that have the same external master.

Members announce their master and the state of their application in heartbeats, and each computes from what it hears
which member hosts the application (`engine.contracts.spark_host`). There is no election: members that hear the same
compute the same, and a member whose application another one supersedes ends it (`engine.executors.spark.start`).
"""

from __future__ import annotations

import enum
import hashlib
from typing import Final

from wire.dataclass import dataclass

_KEY_LENGTH: Final = 16


class Application(enum.IntEnum):
    """The state of a member's Spark application; a further one takes precedence."""

    NONE = 0
    STARTING = 1
    READY = 2


@dataclass(frozen=True, slots=True)
class SharedSpark:
    """The Spark that a member announces.

    key: equal for members that share an application; empty: the member shares none. waits_for: what statements on the
    member's application have been waiting for, for some seconds; empty: nothing. failed:
    whether the member could not start Spark a short time ago.
    """

    key: str = ""
    application: Application = Application.NONE
    waits_for: str = ""
    failed: bool = False


UNSHARED: Final = SharedSpark()


def key_of(master: str) -> str:
    """Return the key of a master's URL."""
    return hashlib.sha256(master.encode()).hexdigest()[:_KEY_LENGTH]

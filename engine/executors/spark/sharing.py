"""The place of this member among those that share one Spark application: whether it or another one hosts it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from engine.contracts.mesh import MemberInfo, Members
from engine.contracts.shared_spark import UNSHARED, Application, SharedSpark, key_of
from engine.contracts.spark_host import host_of
from engine.executors.engine_config import SparkConfig
from wire.errors import SerializationFailure, SqlError

#: For this time after a failed start, another member hosts the application if one can.
_FAILED_SECONDS: Final = 60.0


class SparkSharing:
    """See the module's docstring. mesh: the members. application: the state of this member's. Made on the loop's
    thread. waits_for: as in `SharedSpark`, of this member's.
    """

    def __init__(self, config: SparkConfig, mesh: Members | None, application: Callable[[], Application]) -> None:
        self._mesh = mesh if config.allocation == "shared" else None
        self._key = key_of(config.master) if self._mesh is not None else ""
        self._application = application
        self._thread = threading.get_ident()
        self._seen: MemberInfo | None = None
        self.waits_for = ""
        self._failed_at: float | None = None

    @property
    def is_shared(self) -> bool:
        return self._mesh is not None

    @property
    def announcement(self) -> SharedSpark:
        """The state of the Spark that the other members are told."""
        if not self.is_shared:
            return UNSHARED
        return SharedSpark(self._key, self._application(), self.waits_for, self.has_failed)

    @property
    def has_failed(self) -> bool:
        """Whether this member could not start Spark a short time ago."""
        return self._failed_at is not None and time.monotonic() - self._failed_at < _FAILED_SECONDS

    def note_failure(self, error: SqlError) -> SerializationFailure | None:
        """Note that Spark could not be started here. Returns the error for statements that waited for the start if
        another member hosts the application from now on.
        """
        self._failed_at = time.monotonic()
        other = self.other_host
        if other is None:
            return None
        return SerializationFailure(
            f'could not start Spark on this member: member "{other}" hosts it from now on',
            detail=error.message,
            hint="The statement may be repeated.",
        )

    def host(self) -> MemberInfo | None:
        """Return the member that hosts the application; None if it is this member's alone. On other threads than the
        loop's, it is the host that the loop has seen last.
        """
        if self._mesh is not None and threading.get_ident() == self._thread:
            self._seen = host_of(self._mesh.members(), self._key)
        return self._seen

    @property
    def other_host(self) -> str | None:
        """The other member that hosts the application, or is to start it."""
        host = self.host()
        return None if host is None or host.local else host.id

    @property
    def running_elsewhere(self) -> str | None:
        """The other member whose application runs or starts, and takes precedence over one of this member."""
        host = self.host()
        return None if host is None or host.local or host.spark.application is Application.NONE else host.id

    def require_here(self) -> None:
        """Raise SerializationFailure if the application runs elsewhere: a second one might wait for cores forever."""
        elsewhere = self.running_elsewhere
        if elsewhere is not None:
            raise SerializationFailure(
                f'could not start Spark on this member: the members share the Spark of member "{elsewhere}"',
                hint="The statement may be repeated, or run on that member.",
            )

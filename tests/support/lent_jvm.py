"""One JVM that the Sparks of a test process share one after the other, if they need no special settings: it is lent to
one `SparkRuntime` at a time.

A JVM costs four seconds of processor time until it has run its first query; a context in a JVM that already runs costs
one. PySpark allows one context a process, so two tenants never use the JVM at the same time. When a tenant's context
ends, its sessions, jobs and Python workers end too. The JVM stays, with its loaded classes and their compiled code.

A tenant with other settings than the last one gets a new JVM. `OWN_JVMS=1` gives every Spark its own JVM: a failure
that disappears with it is caused by what another tenant left behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

#: Settings that name a tenant's folders and files. Java's options are among them: they name the file that configures
#: the log, which stays that of the first tenant.
_OF_DIRECTORIES: Final = frozenset({"spark.local.dir", "spark.sql.warehouse.dir", "spark.driver.extraJavaOptions"})
#: Settings that each new context reads again.
_OF_CONTEXTS: Final = frozenset({"spark.master", "spark.sql.shuffle.partitions"})


class _Lender:
    """Lends one JVM. launch, end: the functions with which a `SparkRuntime` starts and ends a JVM of its own."""

    def __init__(self, launch: Callable[..., Any], end: Callable[[Any], None]) -> None:
        self._launch = launch
        self._end = end
        self._gateway: Any = None
        self._settings: frozenset[tuple[str, str]] = frozenset()
        self.is_lending = not os.environ.get("OWN_JVMS")

    def launch(self, conf: Any, options: dict[str, Any]) -> Any:
        """Return the gateway of a running JVM. If a Spark needs its own JVM, the lent one is ended first, because
        ending the new one waits for all threads of PySpark.
        """
        settings = frozenset(item for item in conf.getAll() if item[0] not in _OF_DIRECTORIES | _OF_CONTEXTS)
        if self._gateway is not None and (not self.is_lending or settings != self._settings or self._has_ended()):
            self.close()
        if not self.is_lending:
            return self._launch(conf, options)
        if self._gateway is None:
            self._gateway, self._settings = self._launch(conf, options), settings
        return self._gateway

    def end(self, gateway: Any) -> None:
        """End a JVM, unless it is the lent one, which stays."""
        if gateway is not self._gateway:
            self._end(gateway)
        elif self._has_ended():
            self.close()

    @property
    def process(self) -> int | None:
        return None if self._gateway is None else int(self._gateway.proc.pid)

    def close(self) -> None:
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            self._end(gateway)

    def _has_ended(self) -> bool:
        return self._gateway.proc.poll() is not None


@cache
def lender() -> _Lender:
    """Make the Sparks that this process starts from now on borrow their JVM."""
    session: Any = import_module("engine.executors.spark.session")
    made = _Lender(session.launch_gateway, session._end)
    session.launch_gateway, session._end = made.launch, made.end
    return made


def close() -> None:
    """End the lent JVM, at the end of the process."""
    if lender.cache_info().currsize:
        lender().close()


def lent_process() -> int | None:
    """Return the process id of the lent JVM, or None if there is none."""
    return lender().process

"""Spans of the instances of a query on a member, and of the edges that they send over (`engine.common.tracing`)."""

from __future__ import annotations

import time
from collections.abc import Mapping

from engine.common import tracing
from engine.plan_ir.spec import (
    InstanceSpec,
    SharedSpec,
)
from engine.runtime.query_state import Cause
from wire.errors import SqlError


class RunSpans:
    """See the module's docstring. trace: the parent of the spans; empty: none are recorded."""

    def __init__(self, query: str, member: str, shared: SharedSpec, trace: str) -> None:
        self._query = query
        self._member = member
        self._fragments = {fragment.id: fragment for fragment in shared.fragments}
        self._trace = trace
        self._begun = time.time()

    def record_instance(
        self, instance: InstanceSpec, begun: float, cause: Cause | None, counters: Mapping[str, int]
    ) -> None:
        """Record the span of an instance that has ended, and that of the edge that it has sent over."""
        if not self._trace:
            return
        error = None if cause is None or not cause.is_failure else f"{cause.sqlstate}: {cause.message}"
        rows = counters[f"instance.{instance.fragment}.{instance.instance}.rows"]
        parent = self._record_fragment(instance, begun, rows, error)
        edge = f"edge.{self._fragments[instance.fragment].output}"
        sent = {f"sluice.{name}": counters[f"{edge}.{name}"] for name in ("bytes", "batches", "stalls")}
        about: dict[str, str | int] = {
            "sluice.edge": self._fragments[instance.fragment].output or 0,
            "sluice.sender": instance.instance,
        }
        tracing.record("edge", parent, begun, {**about, **sent}, error=error)

    def record_root(self, root: InstanceSpec, rows: int, error: SqlError | None) -> None:
        """Record the span of the root, which the portal has read."""
        if self._trace:
            told = None if error is None else f"{error.sqlstate}: {error.message}"
            self._record_fragment(root, self._begun, rows, told)

    def _record_fragment(self, instance: InstanceSpec, begun: float, rows: int, error: str | None) -> str:
        fragment = self._fragments[instance.fragment]
        about: dict[str, str | int] = {
            "sluice.query": self._query, "sluice.member": self._member, "sluice.fragment": instance.fragment,
            "sluice.instance": instance.instance, "sluice.engine": fragment.engine, "sluice.rows": rows,
        }  # fmt: skip
        return tracing.record("fragment", self._trace, begun, about, error=error)

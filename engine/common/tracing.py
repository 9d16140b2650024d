"""Spans of statements, for OpenTelemetry. This is the only module that uses its API.

A span's context travels as the text of W3C's `traceparent` header: from the client in a setting, from the session's
member to the others with the start of their fragments, and to the thread of a Spark job. An empty text stands for no
trace. While tracing is off, every text is empty, nothing of OpenTelemetry is imported, and each call here returns after
one comparison.

`install` sets the tracer, once for a process, as OpenTelemetry requires. `server.monitor.tracing_setup` makes one from
a configuration.

Rejected: OpenTelemetry's context variables. A statement passes through threads, tasks of an event loop that serve many
statements, and other processes; a text that is passed on names the parent of a span.

Source: W3C Trace Context, 3.2 (traceparent).
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, Final

#: version-trace-parent-flags; ids of zeros are invalid.
_TRACEPARENT: Final = re.compile(
    r"(?<![0-9a-f])00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?![0-9a-f])"
)
Attributes = Mapping[str, str | int | float | bool]


class _Installed:
    """The process's tracer; None: tracing is off."""

    tracer: Any = None


def install(tracer: Any) -> None:
    """Begin to record spans with an OpenTelemetry tracer; None: record none."""
    _Installed.tracer = tracer


def is_on() -> bool:
    return _Installed.tracer is not None


def find_traceparent(text: str) -> str:
    """Return the first valid traceparent in a text; an empty text if there is none."""
    found = _TRACEPARENT.search(text) if "-" in text else None
    return "" if found is None else found[0]


class Span:
    """A span that has begun. traceparent: its context, for its children. The span is exported when it is ended."""

    __slots__ = ("_span", "traceparent")

    def __init__(self, span: Any) -> None:
        self._span = span
        context = span.get_span_context()
        self.traceparent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"

    def end(self, attributes: Attributes, *, at: float | None = None, error: str | None = None) -> None:
        """End the span. at: in seconds since the epoch; None: now. error: the failure, if there was one."""
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attributes(attributes)
        if error is not None:
            self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.end(_nanoseconds(time.time() if at is None else at))


def begin(name: str, parent: str, *, at: float | None = None) -> Span | None:
    """Begin a span. Returns None if tracing is off. parent: a traceparent; empty: the span begins a trace. at: in
    seconds since the epoch.
    """
    tracer = _Installed.tracer
    if tracer is None:
        return None
    begun = _nanoseconds(time.time() if at is None else at)
    return Span(tracer.start_span(name, context=_context_of(parent), start_time=begun))


def record(
    name: str,
    parent: str,
    begun: float,
    attributes: Attributes,
    *,
    ended: float | None = None,
    error: str | None = None,
) -> str:
    """Record a finished span as a child of `parent`. begun, ended: in seconds since the epoch; None: now. Returns its
    traceparent. Without a parent, or while tracing is off, nothing is recorded.
    """
    if not parent or (span := begin(name, parent, at=begun)) is None:
        return ""
    span.end(attributes, at=ended, error=error)
    return span.traceparent


def _context_of(traceparent: str) -> Any:
    """Return OpenTelemetry's context of a parent."""
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    found = _TRACEPARENT.fullmatch(traceparent)
    if found is None:
        return Context()
    trace, span, flags = (int(part, 16) for part in found.groups())
    return set_span_in_context(
        NonRecordingSpan(SpanContext(trace, span, is_remote=True, trace_flags=TraceFlags(flags))), Context()
    )


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)

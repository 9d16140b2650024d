"""Sets up a member's tracer from its configuration: OpenTelemetry's SDK with its OTLP exporter, which are an extra
(`sluice[otel]`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.common import tracing
from server.common.version import VERSION
from server.config.errors import ConfigurationError

if TYPE_CHECKING:
    from server.config.config import TracingSection


@contextmanager
def record_spans(config: TracingSection, member: str) -> Iterator[None]:
    """Record spans within the block, if the configuration names a collector. At the end of the block, the remaining
    spans are sent. Raises ConfigurationError if the SDK is not installed.
    """
    if not config.endpoint:
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError as error:
        raise ConfigurationError(
            f"tracing.endpoint: {error.name} is not installed; pip install 'sluice[otel]'"
        ) from None
    resource = Resource.create(
        {"service.name": config.service, "service.instance.id": member, "service.version": VERSION}
    )
    provider = TracerProvider(resource=resource, sampler=ParentBased(TraceIdRatioBased(config.sample)))
    exporter = OTLPSpanExporter(endpoint=f"{config.endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracing.install(provider.get_tracer("sluice", VERSION))
    try:
        yield
    finally:
        tracing.install(None)
        provider.shutdown()

"""A collector of spans: it receives OTLP over HTTP, as OpenTelemetry's exporters send it, and keeps the spans in a
list.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """A received span.

    ids: in hexadecimal.
    parent: empty for a span without one.
    service: the `service.instance.id` of the sender.
    """

    name: str
    trace: str
    id: str
    parent: str
    service: str
    attributes: dict[str, Any]


@dataclass
class OtlpReceiver:
    """A running collector. endpoint: the value for `tracing.endpoint`."""

    endpoint: str
    spans: list[Received] = field(default_factory=list)

    def named(self, name: str, trace: str) -> list[Received]:
        return [span for span in list(self.spans) if span.name == name and span.trace == trace]


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    """Run a collector on a free port."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/x-protobuf":
                self.send_error(404)
                return
            receiver.spans += _read_spans(ExportTraceServiceRequest.FromString(body))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Suppress the request log, which does not belong into the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = OtlpReceiver(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, name="otlp-receiver")
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _read_spans(request: Any) -> Iterator[Received]:
    for of_resource in request.resource_spans:
        resource = _attributes(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Received(
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    str(resource.get("service.instance.id", "")),
                    _attributes(span.attributes),
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}

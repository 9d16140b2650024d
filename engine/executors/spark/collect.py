"""A job's result, collected by the driver as Arrow batches in order.

This is what `DataFrame.toArrow` does, without two of its steps: `toArrow` asks the JVM for the schema again, and it
leaves its socket to the garbage collector. It serves results that are small by construction, and the summaries of tasks
that stream.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.serializers import ArrowCollectSerializer
from pyspark.util import local_connect_and_auth


def collect_arrow(frame: Any) -> list[pa.RecordBatch]:
    """Return the rows of a Java DataFrame. Blocks; raises what the job raises."""
    port, secret, server = frame.collectAsArrowToPython()
    file, connection = local_connect_and_auth(port, secret)
    with contextlib.closing(connection), contextlib.closing(file):
        # The socket's timeout is for the handshake only: a job may take any time.
        connection.settimeout(None)
        try:
            *batches, order = ArrowCollectSerializer().load_stream(file)  # type: ignore[no-untyped-call]
        finally:
            # Raises the job's own error, which has broken the stream.
            server.getResult()
    return [batches[index] for index in order]

"""Composes a member's runtime of its executors, its pools and the files that it reads for other members."""

from __future__ import annotations

from engine.contracts.mesh import Mesh
from engine.exchange.listener import DataListener
from engine.executors.engine_config import EngineConfig
from engine.runtime.executors import Executors
from engine.runtime.pools import Pools
from engine.runtime.readable_files import ReadableFiles
from engine.runtime.run_services import Writers
from engine.runtime.runtime import MeshRuntime


def open_runtime(
    config: EngineConfig, mesh: Mesh, listener: DataListener, executors: Executors, pools: Pools, writers: Writers
) -> MeshRuntime:
    """Return the runtime of a member; the caller starts it. listener: accepts the streams of other members."""
    files = ReadableFiles(config.member, config.files.shared_roots, config.files.held_sources())
    return MeshRuntime(
        mesh, listener, executors.local, executors.spark.productions, executors.spooler, pools.messages, files, writers
    )

"""Derives the configurations of a server's processes from the server's own.

Memory limits are divided among the processes. The first process has the member's name, mesh address, console, Trino's
door and Spark; the others are `NAME.2`, `NAME.3` ..., have folders of their own below the data directory, and use the
first one's Spark, or share one with it if the master is external.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

from engine.executors.engine_config import PRIVATE
from server.common.reserved_ports import reserve_ports
from server.config.address import Address
from server.config.config import Config

_FOLDER: Final = "processes"
_MEMORY: Final = re.compile(r"([\d.]+)\s*(\w+)")


def process_count(config: Config) -> int:
    """Return how many processes the server has: `auto` means one for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if config.processes == "auto" else config.processes


def process_configurations(config: Config, held: ExitStack) -> list[Config]:
    """Return the configuration of each process. held: keeps a chosen mesh port reserved for the first process. Blocks on
    the disk. Raises ValueError for a secret that cannot be used, and OSError if no port is free.
    """
    count = process_count(config)
    if count == 1:
        return [config]
    config.mesh_secret()
    mesh = Address.parse(config.mesh) if config.in_cluster else Address("127.0.0.1", 0)
    if not mesh.port:
        mesh = Address(mesh.host, *reserve_ports(mesh.host, 1, held))
    given = config.model_dump(exclude_unset=True)
    shared = _merge(
        given,
        {
            "processes": 1,
            "mesh": str(mesh),
            "memory": _share(config.memory, count),
            "client_input_mb": max(1, config.client_input_mb // count),
            "client_output_mb": max(1, config.client_output_mb // count),
            "local": {"memory": _share(config.local.memory, count)},
            "cluster": {} if config.cluster.secret_bytes() else {"secret_file": config.made_secret},
            # The processes share the machine's cores, so distributing a query over them gains nothing.
            "settings": {} if config.in_cluster else {"sluice.distribution": "off", **config.settings},
        },
    )
    return [Config.model_validate(shared)] + [
        Config.model_validate(_merge(shared, _another(config, number, mesh))) for number in range(2, count + 1)
    ]


def _another(config: Config, number: int, first: Address) -> Mapping[str, Any]:
    """Return the configuration keys of a process other than the first."""
    data = config.data.absolute()
    spark: dict[str, Any] = {"start": "lazy"}
    if config.spark.master.startswith("local") or not config.spark.share:
        spark["member"] = config.spark.member or config.member
    return {
        "member": f"{config.member}.{number}",
        "data": data / PRIVATE / _FOLDER / str(number),
        "base": config.base or data,
        "catalog": config.catalog or str(data / PRIVATE / "catalog.sqlite"),
        "mesh": str(Address(first.host, 0)),
        "console": "127.0.0.1:0",
        "http": {"listen": None},
        "cluster": {"seeds": [str(first), *config.cluster.seeds], "advertise": None},
        "spark": spark,
    }


def _merge(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with the changes, merged section by section."""
    merged = dict(values)
    for key, change in changes.items():
        merged[key] = _merge(merged.get(key, {}), change) if isinstance(change, Mapping) else change
    return merged


def _share(memory: str, count: int) -> str:
    """Return one of `count` equal shares of a size such as `4GB`."""
    found = _MEMORY.fullmatch(memory.strip())
    assert found is not None, "the configuration has checked it"
    return f"{float(found[1]) / count:.6f}{found[2]}"

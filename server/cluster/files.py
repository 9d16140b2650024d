"""The directory of a local cluster: its processes (cluster.json), a secret, and a configuration for each member.

    DIR/cluster.json           the members: names, roles, addresses, process ids with their start times
    DIR/secret                 the secret by which members authenticate each other; readable by its owner only
    DIR/catalog.sqlite         the catalog that they share
    DIR/topology.yaml          the topology file, if one was given, with the addresses that the members have here
    DIR/<member>/member.toml   the member's configuration; member.log beside it, its own files in .sluice
    DIR/...                    data: relative paths of tables begin at DIR for every member

A process is taken for the one that was started only if its start time matches: the system reuses process ids, and
`down` must never signal an unrelated process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil
import yaml

from server.config import cluster_secret

_STATE: Final = "cluster.json"
#: The limit of `cluster.name` (`server.config.config.ClusterSection`).
_NAME_LENGTH_MAX: Final = 63


class MemberProcess(msgspec.Struct, frozen=True):
    """One member of a local cluster. started: the process's start in seconds since the epoch, as the system reports
    it.
    """

    name: str
    role: str
    listen: str
    mesh: str
    console: str
    pid: int = 0
    started: float = 0.0


class Cluster(msgspec.Struct, frozen=True):
    """All members, in the order in which they were started."""

    members: tuple[MemberProcess, ...]


_CLUSTER: Final = msgspec.json.Decoder(Cluster)


def read(folder: Path) -> Cluster | None:
    """Return the cluster that was started in this directory and not taken down, if any. Raises ValueError for a broken
    file.
    """
    try:
        text = (folder / _STATE).read_bytes()
    except FileNotFoundError:
        return None
    try:
        return _CLUSTER.decode(text)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{folder / _STATE} cannot be read: {error}") from error


def write(folder: Path, cluster: Cluster) -> None:
    """Write the file atomically: a concurrent reader sees the old one or the new one."""
    temporary = folder / f"{_STATE}.new"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(cluster), indent=2) + b"\n")
    temporary.replace(folder / _STATE)


def remove(folder: Path) -> None:
    (folder / _STATE).unlink(missing_ok=True)


def process_of(member: MemberProcess) -> psutil.Process | None:
    """Return the member's process if it runs, and never another process that has its id now."""
    try:
        process = psutil.Process(member.pid)
        ours = abs(process.create_time() - member.started) < 0.05 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if ours else None


def started_at(pid: int) -> float:
    """Return the time at which a running process was started."""
    time: float = psutil.Process(pid).create_time()
    return time


def secret(folder: Path) -> Path:
    """Return the file of the cluster's secret, which the first start creates. Raises
    `server.config.cluster_secret.UnusableSecret`.
    """
    path = folder / "secret"
    cluster_secret.read_or_make(path)
    return path


def log_of(folder: Path, member: MemberProcess) -> Path:
    return folder / member.name / "member.log"


def write_topology(folder: Path, given: Path, addresses: Mapping[str, str]) -> Path:
    """Copy a valid topology file with these addresses in place of the nodes' own, by their names."""
    values = yaml.safe_load(given.read_text())
    for node in values["nodes"]:
        node["address"] = addresses[node["name"]]
    path = folder / "topology.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path


def configure(
    folder: Path,
    member: MemberProcess,
    seeds: Sequence[str],
    spark: Mapping[str, str],
    lite_routing: str,
    topology: Path | None = None,
) -> Path:
    """Write a member's configuration. Returns its path."""
    settings = {"sluice.lite_routing": lite_routing} if member.role == "lite" else {}
    path = folder / member.name / "member.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        _toml(
            {
                "member": member.name,
                "listen": member.listen,
                "mesh": member.mesh,
                "console": member.console,
                "data": str(path.parent),
                "base": str(folder),
                "catalog": str(folder / "catalog.sqlite"),
            },
            cluster={
                "name": folder.name[:_NAME_LENGTH_MAX] or "sluice",
                "role": member.role,
                "seeds": list(seeds),
                "secret_file": str(secret(folder)),
                **({"topology": str(topology)} if topology else {}),
            },
            spark=dict(spark),
            settings=settings,
        )
    )
    return path


def _toml(values: Mapping[str, Any], **sections: Mapping[str, Any]) -> str:
    """Format strings and lists of strings as TOML, whose basic strings are JSON's."""
    lines = [_line(key, value) for key, value in values.items()]
    for name, section in sections.items():
        if section:
            lines += ["", f"[{name}]", *(_line(key, value) for key, value in section.items())]
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    return f"{json.dumps(key)} = {json.dumps(value)}"

"""The processes that a test process or a member has started, directly or not."""

from __future__ import annotations

import psutil

_DAEMON = "engine.executors.spark.worker_daemon"


def running_children(pid: int | None = None) -> list[psutil.Process]:
    """Return the descendants of a process (this one, if none is given) that run.

    Zombies have ended: the shell that starts a JVM may leave one, which the JVM never collects.
    """
    return [child for child in psutil.Process(pid).children(recursive=True) if is_alive(child)]


def python_workers(pid: int | None = None) -> list[psutil.Process]:
    """Return the Python workers of the Spark that a process has started: the children of the daemon that forks them."""
    family = running_children(pid)
    daemons = {child.pid for child in family if _DAEMON in _command(child)}
    return [child for child in family if child.ppid() in daemons]


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs. A zombie does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""

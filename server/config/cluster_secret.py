"""The cluster's secret if the configuration gives none: a file that the first member creates and that all members with
the same folder read.

Neighbours: `server.config.config` decides when a member needs a secret, `server.cluster.files` keeps that of a local
cluster, `wire.mesh.control_channel` proves that both ends know it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from engine.storage.durable import sync

_BYTES: Final = 32
_FILE_MODE: Final = 0o600
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
#: In the member's own folder (`engine.executors.engine_config.EngineConfig.private`).
NAME: Final = "cluster-secret"


class UnusableSecret(ValueError):
    """A secret's file that cannot be used; the message is for the operator."""


def first_line(path: Path) -> bytes:
    """Return the first line of a file, without surrounding blanks. Raises UnusableSecret if the file cannot be read."""
    try:
        return path.read_bytes().partition(b"\n")[0].strip()
    except OSError as error:
        raise UnusableSecret(f"cannot read {path}: {error.strerror}") from None


def read_or_make(path: Path) -> bytes:
    """Return the secret in a file of this member's user, which the first call creates. Blocks on the disk.

    The file is created atomically: a process that starts at the same time over the same folder reads the first one's
    secret. Raises UnusableSecret if users other than the owner may read or write the file, or if it is empty or
    unreadable.
    """
    if not path.exists():
        _make(path)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise UnusableSecret(f"cannot read {path}: {error.strerror}") from None
    if mode & _OTHERS:
        raise UnusableSecret(
            f"{path} has group or world access: the secret in it may be known to others. "
            "Remove the file on all members, so that a new one is made, or, if nobody has read it, run: chmod 600"
        )
    secret = first_line(path)
    if not secret:
        raise UnusableSecret(f"{path} has no secret in its first line; remove the file, so that a new one is made")
    return secret


def _make(path: Path) -> None:
    """Write a new secret to a temporary file beside the path, and link it to the path unless another process was
    first.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "w") as file:
            file.write(secrets.token_hex(_BYTES) + "\n")
        sync(draft)
        try:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
        sync(path.parent)
    except OSError as error:
        raise UnusableSecret(f"cannot write {path}: {error.strerror}") from None

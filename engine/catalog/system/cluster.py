"""The schema `sluice`: what this member knows of the cluster. Everybody may read it; it is the same on lite members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.snapshot import SLUICE
from engine.catalog.system.declared import Row, SystemContext, SystemRelation


def _members(context: SystemContext) -> Iterator[Row]:
    for m in context.members:
        yield m.id, m.mesh, m.client, m.role, m.state, m.load, m.version, m.incarnation, m.local


SYSTEM: Final = (
    SystemRelation(
        12_201,
        "members",
        "id text, address text, client_address text, role text, state text, load int4, version text, incarnation text, "
        "is_local bool",
        _members,
        volatile=True,
        schema=SLUICE,
    ),
)

"""Catalog objects besides stored tables: a client's own role, schema, default privileges, and statistics of a table.

No other client changes them, so they conflict with nothing. They take part in every commit, in every refresh of a
catalog, and in the version that both count.
"""

from __future__ import annotations

import zlib
from random import Random
from typing import Final

from engine.catalog.model.acl import SELECT, Item
from engine.catalog.model.objects import Schema, Table
from engine.catalog.model.rights import DefaultKey
from engine.catalog.model.roles import FIRST_ROLE, Role
from engine.catalog.model.statistics import TableStatistics
from engine.catalog.store.transaction import SessionCatalog

_KINDS: Final = ("role", "schema", "defaults", "statistics")


def change_side_object(catalog: SessionCatalog, chance: Random, owner: str, table: Table) -> None:
    """Create one of the owner's objects, or remove it if it exists; or keep statistics of a table."""
    present, objects = catalog.current(), catalog.objects
    match chance.choice(_KINDS):
        case "role":
            role = present.roles.find_role(owner)
            if role is None:
                objects.put_role(Role(objects.new_oid(), owner))
            else:
                objects.remove_role(role)
        case "schema":
            if owner in present.schemas:
                objects.remove_schema(owner)
            else:
                objects.put_schema(Schema(objects.new_oid(), owner))
        case "defaults":
            of = DefaultKey(zlib.crc32(owner.encode()), 0, "r")
            gives = None if of in present.rights.defaults else (Item(0, FIRST_ROLE, SELECT),)
            objects.put_defaults(of, gives)
        case _:
            catalog.tables.keep_statistics(table, TableStatistics(float(chance.randrange(1000)), 1))

"""A separate process that commits tables to a shared catalog: `python -m support.catalog_writer LOCATION PREFIX COUNT`.

It adds COUNT tables `PREFIX_0` ..., each in its own commit. After each it drops and creates `contended` in one
transaction, and retries until that commits. It prints the OIDs that it was given and how many of these transactions it
lost, one number a line.
"""

from __future__ import annotations

import sys

from engine.catalog.model.objects import Table, TableColumn
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from wire.errors import SerializationFailure
from wire.types import pg_types as t

COLUMNS = (TableColumn("a", st.of(t.INT4), 1),)


def table(oid: int, name: str) -> Table:
    return Table(oid, "public", name, COLUMNS, "parquet", f"/data/{name}", ())


def replace_contended(catalog: SessionCatalog, oid: int) -> bool:
    """Drop and create the table in one transaction. Returns False if another process committed first."""
    catalog.begin()
    try:
        present = catalog.current().resolve("public", "contended", ())
        if present is not None:
            catalog.objects.remove(present)
        catalog.objects.put(table(oid, "contended"))
        catalog.commit()
    except SerializationFailure:
        catalog.rollback()
        return False
    return True


def main(location: str, prefix: str, count: int) -> None:
    store = CatalogStore(location)
    catalog = SessionCatalog(store)
    oids, lost = [], 0
    for number in range(count):
        oids += [catalog.objects.new_oid(), catalog.objects.new_oid()]
        catalog.objects.put(table(oids[-2], f"{prefix}_{number}"))
        while not replace_contended(catalog, oids[-1]):
            lost += 1
            store.refresh()
    store.close()
    print(*oids, lost, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

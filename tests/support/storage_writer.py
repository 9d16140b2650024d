"""A separate process that writes to stored tables: `python -m support.storage_writer LOCATION FIRST COUNT`.

It inserts the numbers FIRST, FIRST + 1 ... into the tables `t` and `u`, each into both in one transaction, and prints
each when its commit has returned. It publishes to Delta's logs in the background, as members do.
"""

from __future__ import annotations

import sys

from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from support.storage_ground import insert


def main(location: str, first: int, count: int) -> None:
    store = CatalogStore(location)
    store.start_publishing()
    catalog = SessionCatalog(store)
    for number in range(first, first + count):
        store.refresh()
        catalog.begin()
        insert(catalog, number)
        insert(catalog, number, name="u")
        catalog.commit()
        print(number, flush=True)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

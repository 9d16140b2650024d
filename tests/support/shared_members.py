"""Two members in this process that share a catalog and a folder of tables, and sessions that work on both at the same
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from support.local_member import LocalMember, local_member

SESSIONS = 8


@contextmanager
def two_members(folder: Path, catalog: str | None = None) -> Iterator[list[LocalMember]]:
    """Run two members. catalog: a URL; if not given, the catalog is a file in the folder."""
    catalog = catalog or str(folder / "catalog.sqlite")
    with ExitStack() as stack:
        yield [
            stack.enter_context(local_member(folder / name, member=name, base=folder, catalog=catalog))
            for name in ("m1", "m2")
        ]


def at_once(members: list[LocalMember], work: Callable[[psycopg.Connection[Any], int], Any]) -> list[Any]:
    """Call `work(connection, number)` concurrently in several sessions, spread over the members. Raises an exception
    that one of them raised.
    """

    def session(number: int) -> Any:
        with members[number % len(members)].connect() as connection:
            return work(connection, number)

    with ThreadPoolExecutor(SESSIONS) as pool:
        return list(pool.map(session, range(SESSIONS)))

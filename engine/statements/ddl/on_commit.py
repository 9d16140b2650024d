"""ON COMMIT DROP and ON COMMIT DELETE ROWS: a transaction applies them to temporary tables as the first step of its
commit.

Source: PostgreSQL 15, tablecmds.c (PreCommit_on_commit_actions): DROP also drops the objects that depend on the table.
"""

from __future__ import annotations

from engine.catalog.store.transaction import SessionCatalog
from engine.statements.shared.dependencies import Thing, remove


def act(catalog: SessionCatalog) -> None:
    """Drop or empty the temporary tables whose ON COMMIT action is due. Blocks on the disk."""
    due = catalog.temporary.due_at_commit()
    dropped = [Thing(table.oid) for table, action in due if action == "drop"]
    if dropped:
        remove(dropped, "temporary tables", True, catalog, (), lambda _message: None)
    for table, action in due:
        if action == "delete":
            catalog.tables.truncate(table)

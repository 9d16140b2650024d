"""Faults of one line, planted into storage and commits: does the simulated disk find them?

python tests/simulation/planted_storage_faults.py         # all, as a table; exit status 1 if one is not found
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
# It is also run as a program, which finds nothing but what is beside it.
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT)]

from support.planting import Fault, plant, run_hunts  # noqa: E402

#: So many seeds are tried.
SEEDS: Final = 1000
_DELTA: Final = "engine.storage.delta"
_PUBLISH: Final = "engine.catalog.store.publication"
_STAGING: Final = "engine.storage.staging"
_CONNECTIONS: Final = "engine.catalog.store.sqlite_connections"
_SQLITE: Final = "engine.catalog.store.sqlite"
_STORE: Final = "engine.catalog.store.store"
_ROWS: Final = "engine.catalog.store.rows"
_DIFFERENCE: Final = "engine.catalog.store.difference"
_STORED_TABLES: Final = "engine.catalog.store.stored_tables"
_REPLAY: Final = "engine.catalog.replay"
_WHOLE_OR_MISSING: Final = """if (change.whole and not _same_files(present, change.before)) or tables.missing_paths(
        present, change.files.removed
    ):"""
_VISIBLE: Final = "engine.catalog.store.visible_catalog"
_UNCOMMITTED: Final = "engine.catalog.store.uncommitted_files"
_PENDING: Final = "engine.catalog.store.pending_changes"
_TRANSACTION: Final = "engine.catalog.store.transaction"
_IN_FLIGHT: Final = "engine.storage.in_flight_files"
_TABLES: Final = "engine.storage.tables"
_VACUUM: Final = "engine.catalog.store.sweep"
_LOG: Final = "        newest = readable_version(self._database, Path(table.path), table.storage.version)\n"
_ASKED: Final = "        # The catalog is asked after the log: what other transactions commit meanwhile is in both.\n"
_LOG_THEN_CATALOG: Final = f"{_LOG}{_ASKED}        if newest.published.number > self._database.version():"
_CATALOG_THEN_LOG: Final = (
    f"        number = self._database.version()\n{_LOG}        if newest.published.number > number:"
)

FAULTS: Final = (
    Fault(
        "no sync of data", _STAGING, "        self._sink.close()\n        sync(self.path)", "        self._sink.close()"
    ),
    Fault("no sync of a data file's folder", _STAGING, "                sync(folder)", "                pass"),
    Fault(
        "no sync of the folder that a file moved to",
        "engine.storage.staging_area",
        "                sync(folder)",
        "                pass",
    ),
    Fault("no sync of the log", _DELTA, "            sync(log / name)", "            pass"),
    Fault(
        "no sync of the log's folder",
        _DELTA,
        "        sync(log / _LAST_CHECKPOINT)\n    sync(log)\n",
        "        sync(log / _LAST_CHECKPOINT)\n",
    ),
    Fault(
        "sync of the newest version only",
        _DELTA,
        "_make_durable(Path(self._folder), self._durable + 1, newest)",
        "_make_durable(Path(self._folder), newest, newest)",
    ),
    Fault("no sync of what is in the log already", _PUBLISH, "                log.make_durable()\n", ""),
    Fault("no sync of a new table's log", _DELTA, "        _make_durable(folder, 0, 0)", "        pass"),
    Fault(
        "no sync of a new table's folder",
        _DELTA,
        "        for made in (folder, folder.parent, folder.parent.parent):\n            sync(made)",
        "        pass",
    ),
    Fault(
        "a torn log stays torn",
        _PUBLISH,
        "        delta.repair(folder, lambda: _pinned_now(database, folder))",
        "        raise",
    ),
    Fault("a repair takes what is pinned", _DELTA, "if number > version:", "if number >= version:"),
    Fault(
        "a removed folder comes back",
        _PUBLISH,
        "        if root.is_dir():\n            sync(root)\n",
        "",
    ),
    Fault("the catalog does not sync", _CONNECTIONS, "pragma synchronous = full", "pragma synchronous = normal"),
    Fault(
        "settle forgets later decisions",
        _SQLITE,
        '"delete from decisions where location = ? and number <= ?"',
        '"delete from decisions where location = ? and ? > 0"',
    ),
    Fault(
        "settle forgets no decision",
        _SQLITE,
        '"delete from decisions where location = ? and number <= ?"',
        '"delete from decisions where location = ? and number > 1e9 + ?"',
    ),
    Fault("settle pins an older version", _SQLITE, "where location = ? and number < ?", "where location = ? and ? > 0"),
    Fault(
        "settle before it is published",
        _PUBLISH,
        "            log.commit(left[-1].number, whole.added, whole.removed)",
        "            return Published(at.version, left[-1].number)",
    ),
    Fault(
        "publish decisions twice",
        _PUBLISH,
        "left = [made for made in self._decisions if made.number > at.number]",
        "left = list(self._decisions)",
    ),
    Fault(
        "the log has the number of the first decision",
        _PUBLISH,
        "log.commit(left[-1].number,",
        "log.commit(left[0].number,",
    ),
    Fault(
        "publish the last decision only",
        _PUBLISH,
        "                whole = whole.then(made.files)\n            log.commit",
        "                whole = made.files\n            log.commit",
    ),
    Fault("decide nothing", _ROWS, "if files and location in remaining | unchanged:", "if False:"),
    Fault(
        "number a decision by the version before",
        _ROWS,
        "(after.version, location, msgspec",
        "(before.version, location, msgspec",
    ),
    Fault(
        "commit without a new version",
        _SQLITE,
        "marks.after_commit(decided.newest.version)",
        "marks.after_commit(newest.version)",
    ),
    Fault(
        "commit on a state that is not the newest",
        _SQLITE,
        "newest = known if marks.is_of(known) else self._advance(writer)",
        "newest = known",
    ),
    Fault(
        "commit without notes of what it has touched",
        _SQLITE,
        "self._note(writer, marks, touches(decided.steps))",
        "self._note(writer, marks, ())",
    ),
    Fault(
        "take a file away that is gone",
        _REPLAY,
        _WHOLE_OR_MISSING,
        "if change.whole and not _same_files(present, change.before):",
    ),
    Fault(
        "commit on a whole table that has changed",
        _REPLAY,
        _WHOLE_OR_MISSING,
        "if tables.missing_paths(present, change.files.removed):",
    ),
    Fault(
        "move a table that has changed",
        _REPLAY,
        "            after = _redefine(present, change.before, after)",
        "            pass",
    ),
    Fault(
        "a file that was removed reappears",
        _TABLES,
        "added = tuple(file for file in self.added if file.path not in gone)",
        "added = self.added",
    ),
    Fault(
        "remove what never was in the log",
        _TABLES,
        "removed = tuple(path for path in later.removed if path not in made)",
        "removed = later.removed",
    ),
    Fault(
        "one list of files for all versions",
        _TABLES,
        "version=_digest(storage.location, str(changed))",
        "version=_digest(storage.location)",
    ),
    Fault(
        "a reader does not look for commits",
        _STORE,
        "if self._database.version() != self.snapshot.version:",
        "if False:",
    ),
    Fault(
        "a repeatable transaction sees commits",
        _VISIBLE,
        "            self._frozen = self.store.snapshot\n",
        "            return self.store.snapshot\n",
    ),
    Fault(
        "take back what nobody knows the end of",
        _UNCOMMITTED,
        "not isinstance(error, (StatementCompletionUnknown, IoError))",
        "not isinstance(error, StatementCompletionUnknown)",
    ),
    Fault("remove what was committed as unused", _UNCOMMITTED, "if file.path not in kept]", "if file.path]"),
    Fault(
        "a change of a block is committed at once",
        _VISIBLE,
        "        elif self.in_transaction:\n            self.pending.append(change, *more)",
        "        elif self.in_transaction and not hasattr(change, 'truncates'):\n            self.pending.append(change, *more)",
    ),
    Fault(
        "VACUUM takes what was just taken away",
        _VACUUM,
        "        named |= set(_taken_away(folder, self._before))\n",
        "",
    ),
    Fault("VACUUM takes what is decided", _VACUUM, "        named |= _decided_paths(table, decisions)\n", ""),
    Fault(
        "rows are added to what was rolled back",
        _PENDING,
        "        self._kept = {}\n        self._kept_bytes = sum(",
        "        self._kept_bytes = sum(",
    ),
    Fault(
        "rows after a savepoint join those before it",
        _TRANSACTION,
        "        self.pending.close_kept()\n        return self.mark()",
        "        return self.mark()",
    ),
    Fault(
        "ROLLBACK TO leaves files",
        _TRANSACTION,
        "        self._visible.forget_changes()\n        take_back(self._store.tables, changes, made)",
        "        self._visible.forget_changes()",
    ),
    Fault(
        "the files of a renamed table are another's",
        _DIFFERENCE,
        "if place is not None and _location(known.relations.get(place)) == location:",
        "if place is not None:",
    ),
    Fault("VACUUM takes the folder of a table that is not committed", _VACUUM, "| dropped | underway", "| dropped"),
    Fault(
        "the folder of a table is not protected while it is made",
        _IN_FLIGHT,
        "        return founded.union(",
        "        return set().union(",
    ),
    Fault(
        "the folders of a session's new tables are not protected",
        _IN_FLIGHT,
        "return founded.union(*(session.own_folders() for session in sessions))",
        "return founded",
    ),
    Fault(
        "a dropped folder is forgotten before it is removed",
        _PUBLISH,
        "        tables.discard(root, location)\n",
        "        database.forget(location)\n        tables.discard(root, location)\n",
    ),
    Fault(
        "a dropped folder that could not be removed is forgotten",
        _PUBLISH,
        "        if (root / location).exists():\n            continue\n",
        "",
    ),
    Fault(
        "VACUUM compares the log with an older catalog",
        _VACUUM,
        _LOG_THEN_CATALOG,
        _CATALOG_THEN_LOG,
    ),
    Fault(
        "nobody touches what is under way",
        _IN_FLIGHT,
        "                disk.current_disk().touch(path)",
        "                pass",
    ),
    Fault(
        "a dropped folder goes at once",
        _PUBLISH,
        "database.dropped_locations(now - tables.DROPPED_SECONDS)",
        "database.dropped_locations(now + 60)",
    ),
    Fault(
        "a definition that was rolled back keeps the key of plans",
        _PENDING,
        "        self.definitions += not all(isinstance(change, DataChange | Guard | KeptRows) for change in gone)",
        "        pass",
    ),
    Fault(
        "plans are cached while the transaction has changed rows",
        _VISIBLE,
        "isinstance(c, Guard | KeptRows) for c",
        "isinstance(c, Guard | KeptRows) or hasattr(c, 'truncates') for c",
    ),
    Fault(
        "definitions of other members keep the key of plans",
        _DIFFERENCE,
        'if by_kind.keys() - {"files"}:',
        'if by_kind.keys() - {"files", "relation"}:',
    ),
    Fault(
        "folders of dropped tables go while a backup copies", _PUBLISH, "    if is_held(root):\n        return\n", ""
    ),
    Fault("VACUUM removes files while a backup copies", _VACUUM, "self._held = is_held(root)", "self._held = False"),
    Fault(
        "what depends on all rows conflicts with nothing",
        _STORED_TABLES,
        "whole or not (appends_only or files.removed)",
        "whole",
    ),
    Fault(
        "a transaction claims no table",
        "engine.catalog.store.compaction_claims",
        "            self._claims[location] = Claim(Path(table.path))",
        "            pass",
    ),
    Fault(
        "claims and holds count when their members are gone",
        "engine.storage.claims",
        "return any(_modification_time(path) > since for",
        "return any(_modification_time(path) < since for",
    ),
    Fault(
        "an OID is assigned twice",
        _SQLITE,
        "set value = value + 1 where key = 'next_oid' returning value - 1",
        "set value = value where key = 'next_oid' returning value",
    ),
    Fault(
        "a counter is stored at its first use only",
        _SQLITE,
        "            if after != before:\n",
        "            if before is None:\n",
    ),
    Fault(
        "no sync of the folder above a partition's",
        _STAGING,
        "for folder in file.path.parents[: depth + 1]}",
        "for folder in file.path.parents[:1]}",
    ),
)


def hunt(fault: Fault) -> str | None:
    """Run seeds in this process until one fails. Returns the failure."""
    plant(fault)
    from simulated.storage_ground import StorageGround
    from simulated.storage_run import StorageRun

    from wire.errors import SqlError

    try:
        ground = StorageGround()
    except (SqlError, OSError) as error:
        return f"before the first seed: {error}".split("\n", 1)[0]
    try:
        for seed in range(SEEDS):
            with ground.run(seed) as first:
                if (failure := StorageRun(seed, first).outcome().failure) is not None:
                    return f"seed {seed}: {failure}".split("\n", 1)[0]
    finally:
        ground.close()
    return None


if __name__ == "__main__":
    sys.exit(run_hunts(__file__, FAULTS, hunt))

"""Faults of one line, planted into group commit: does the simulated disk find them?

    python tests/simulation/planted_group_faults.py         # all, as a table; exit status 1 if one is not found

They are hunted as those of storage are (`planted_storage_faults`): by clients of two members that commit at the same
time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
# It is also run as a program, which finds nothing but what is beside it.
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT)]

from planted_storage_faults import hunt  # noqa: E402
from support.planting import Fault, run_hunts  # noqa: E402

_GROUP: Final = "engine.catalog.store.commit_group"
_DECIDE: Final = "engine.catalog.store.decide"
_STORE: Final = "engine.catalog.store.store"
_SQLITE: Final = "engine.catalog.store.sqlite"
_KEPT: Final = "engine.storage.kept_rows"
_REPLAYED: Final = "committed = after_commit(decided.newest, changes)"
_COMMITTED: Final = "            outcomes = commit_together(self._store, [catalog for catalog, _ in group])\n"

FAULTS: Final = (
    Fault(
        "the outcome of one is told to another",
        _GROUP,
        "return [told[id(catalog)] for catalog in catalogs]",
        "return [told[id(catalog)] for catalog in reversed(catalogs)]",
    ),
    Fault(
        "all are told the outcome of the first",
        _GROUP,
        "return [told[id(catalog)] for catalog in catalogs]",
        "return [told[id(catalogs[0])] for catalog in catalogs]",
    ),
    Fault(
        "who waits is told before the group is decided",
        _GROUP,
        "        self._go_on()\n        return future\n",
        "        self._go_on()\n        told: Future[None] = Future()\n        told.set_result(None)\n        return told\n",
    ),
    Fault(
        "the files of those that fail stay",
        _GROUP,
        "        changes = self.changes or ()\n",
        "        changes = (self.changes or ()) if isinstance(self.outcome, Snapshot) else ()\n",
    ),
    Fault(
        "who has asked first commits last",
        _GROUP,
        "for catalog, future in group if future.set_running_or_notify_cancel()]",
        "for catalog, future in reversed(group) if future.set_running_or_notify_cancel()]",
    ),
    Fault("a group is decided in reverse", _DECIDE, "for changes in group:", "for changes in reversed(group):"),
    Fault(
        "no sync of the folder of a group's file",
        _KEPT,
        "            return writer.finish()",
        """            for partition in list(writer._open):
                writer._close(partition)
            return tuple(file.describe(writer._folder) for file in writer._done)""",
    ),
    Fault(
        "the next group is not begun",
        _GROUP,
        "self._is_committing = goes_on = bool(self._waiting)",
        "self._is_committing = goes_on = False",
    ),
    Fault(
        "those that a group has no room for are forgotten",
        _GROUP,
        "self._waiting[: self._group_max], self._waiting[self._group_max :]",
        "self._waiting[: self._group_max], []",
    ),
    Fault(
        "two groups commit at a time",
        _GROUP,
        "                return future\n            self._is_committing = True\n",
        "                return future\n",
    ),
    Fault(
        "a group's error is told to the next one, too",
        _GROUP,
        _COMMITTED,
        f"""{_COMMITTED}            before, self._error = getattr(self, "_error", None), None
            self._error = next((each for each in outcomes if not isinstance(each, Snapshot)), None)
            outcomes = [before or each for each in outcomes]
""",
    ),
    Fault(
        "a conflict ends all that come after it in the group",
        _DECIDE,
        "            decided.outcomes.append(error)\n            continue\n",
        "            decided.outcomes += [error] * (len(group) - len(decided.outcomes))\n            break\n",
    ),
    Fault(
        "each of a group is replayed on the state before the group",
        _DECIDE,
        _REPLAYED,
        "committed = after_commit(newest, changes)",
    ),
    Fault(
        "a duplicate key of two in a group is not seen",
        _DECIDE,
        _REPLAYED,
        """after_commit(newest, changes)
            judged = [replace(each, whole=False) if getattr(each, "whole", False) else each for each in changes]
            committed = after_commit(decided.newest, judged)""",
    ),
    Fault(
        "a foreign key and its parent pass each other in a group",
        _DECIDE,
        _REPLAYED,
        """after_commit(newest, changes)
            judged = [each for each in changes if type(each).__name__ != "Guard"]
            committed = after_commit(decided.newest, judged)""",
    ),
    Fault(
        "a row that two of a group delete is deleted twice",
        _DECIDE,
        "from engine.catalog.store.rows import Step\n",
        """from engine.catalog.store.rows import Step
from engine.storage import tables

tables.missing_paths = lambda table, paths: ()
""",
    ),
    Fault(
        "a group leaves notes of its last transaction only",
        _SQLITE,
        "touches(decided.steps)",
        "touches(decided.steps[-1:])",
    ),
    Fault(
        "the steps of the last transaction only are written",
        _DECIDE,
        "        decided.steps += steps\n",
        "        decided.steps = steps\n",
    ),
    Fault(
        "rows of all are written for each where they cannot be together",
        _GROUP,
        "_Unit([member], KeptRows(unit.rows.table)) for member",
        "_Unit([member], unit.rows) for member",
    ),
    Fault(
        "rows of the first are written twice",
        _GROUP,
        "            unit.rows.extend(rows)\n        unit.write(store)",
        "            unit.rows.extend(rows)\n        unit.rows.extend(unit.members[0][1].changes[0])\n        unit.write(store)",
    ),
    Fault(
        "rows of the last are left out",
        _GROUP,
        "        for _, ending in unit.members:\n",
        "        for _, ending in unit.members[:-1] or unit.members:\n",
    ),
    Fault(
        "of rows that are kept as values, those of the first transaction only are written",
        _KEPT,
        "        self._rows += others._rows\n",
        "        self._rows = self._rows or list(others._rows)\n",
    ),
    Fault(
        "rows that are kept as values are kept again when their columns are made",
        _KEPT,
        "            self._rows = []\n\n    def _combine",
        "\n    def _combine",
    ),
    Fault(
        "a reader's locks are not looked at in a group",
        _STORE,
        "                replay(self.snapshot, kept)\n",
        "                pass\n",
    ),
    Fault(
        "a reader's locks are looked at in a state that may be old",
        _STORE,
        "            if kept:\n                self.refresh()\n",
        "            if kept:\n",
    ),
    Fault(
        "one error is told to all of a group",
        _GROUP,
        "future.set_exception(copy_error(outcome))",
        "future.set_exception(outcome)",
    ),
    Fault(
        "who has taken the request back is told all the same",
        _GROUP,
        "if future.set_running_or_notify_cancel()]",
        "if future.set_running_or_notify_cancel() or True]",
    ),
)


if __name__ == "__main__":
    sys.exit(run_hunts(__file__, FAULTS, hunt))

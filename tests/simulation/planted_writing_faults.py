"""Faults of one line, planted where storage meets the cluster: does the simulation of clusters whose members write find
them?

    python tests/simulation/planted_writing_faults.py         # all, as a table; exit status 1 if one is not found

The other two simulations cannot find them. In one, tables never change, so no table has a log or changes of its own. In
the other, no query runs over the mesh, so neither the planner nor receivers handle a stored table.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
# It is also run as a program, which finds nothing but what is beside it.
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT)]

from support.planting import Fault, plant, run_hunts  # noqa: E402

#: So many seeds are tried.
SEEDS: Final = 400
_READABLE: Final = "engine.runtime.readable_files"
_PRUNING: Final = "engine.planner.optimizer.pruning"
_SPLITS: Final = "engine.planner.distribute.splits"

FAULTS: Final = (
    Fault(
        "a receiver reads the files of the newest version",
        _READABLE,
        "                files.append(name)",
        """                from engine.storage import delta

                place = os.path.dirname(name)
                log = delta.Log(place) if os.path.exists(f"{place}/{delta.LOG}") else None
                files += [name] if log is None or os.path.basename(name) in log.files.paths else []""",
    ),
    Fault(
        "other members do not read what is not published yet",
        _SPLITS,
        "    for name in table.files:\n        try:",
        """    own = frozenset(file.path for file in table.storage.added) if table.storage is not None else frozenset()
    for name in (name for name in table.files if name.rpartition("/")[2] not in own):
        try:""",
    ),
    Fault(
        "files that the pinned version lacks are taken for files without rows",
        _PRUNING,
        "        paths += [file.path for file in storage.added]\n",
        "",
    ),
    Fault(
        "a plan has the files that were taken away, too",
        _SPLITS,
        "    for name in table.files:\n        try:",
        """    gone = () if table.storage is None else table.storage.removed
    for name in (*table.files, *(f"{table.path}/{path}" for path in gone)):
        try:""",
    ),
    Fault(
        "a plan has the files of the newest version instead of its snapshot's",
        _SPLITS,
        "    for name in table.files:\n        try:",
        """    from engine.storage import delta

    names = table.files
    if table.storage is not None:
        paths = delta.Log(table.path).files.paths
        own = [file.path for file in table.storage.added if file.path not in paths]
        names = [f"{table.path}/{path}" for path in (*paths, *own) if path not in table.storage.removed]
    for name in names:
        try:""",
    ),
)


def hunt(fault: Fault) -> str | None:
    """Run seeds in this process until one fails. Returns the failure."""
    plant(fault)
    from simulated.writing_run import WritingGround

    with contextlib.closing(WritingGround()) as ground:
        for seed in range(SEEDS):
            if (failure := ground.run(seed).failure) is not None:
                return f"seed {seed}: {failure}".split("\n", 1)[0]
    return None


if __name__ == "__main__":
    sys.exit(run_hunts(__file__, FAULTS, hunt))

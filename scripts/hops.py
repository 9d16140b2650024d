"""Count the files that a SELECT and an INSERT pass, and the calls that climb to a higher room.

    PYTHONPATH=.:tests python scripts/hops.py            # print the figures
    PYTHONPATH=.:tests python scripts/hops.py --files    # and the files, and the climbs with how often each is made

A client sends a prepared statement to a member in this process. It is counted when its plan is cached, from the bytes
of Bind to those of CommandComplete, over all threads: so the figure of the SELECT is the path of a statement, and not
the number of passes of the planner. An INSERT ... SELECT is bound and planned anew, and its figure includes that. A
climb is a call from a file of a lower room to a file of a higher room, in the order of the import contracts
(`pyproject.toml`); a call into a room that the contracts do not name is no climb.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final

from support.local_member import local_member

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("wire", "engine", "server")
STATEMENTS: Final[Mapping[str, str]] = {
    "SELECT": "select count(*), sum(a) from t where a > %s",
    "INSERT": "insert into t select %s::int from u",
}


def ranks() -> dict[str, int]:
    """Return the rank of each room that a contract names: a room may import those of lower rank."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {contract["name"]: contract["layers"] for contract in contracts if contract["type"] == "layers"}
    order: list[str] = []
    for name in ("the rooms of the server", "the rooms of the engine", "the rooms of the wire"):
        order += layers[name]
    return {room.strip(): len(order) - place for place, rooms in enumerate(order) for room in rooms.split("|")}


class Way:
    """Records calls between files while it is open."""

    def __init__(self) -> None:
        self.is_open = False
        self.files: Counter[str] = Counter()
        self.climbs: Counter[tuple[str, str]] = Counter()
        self._ranks = ranks()

    def profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        if not self.is_open or event != "call":
            return
        callee = _module(frame)
        if callee is None:
            return
        self.files[callee] += 1
        caller = None if frame.f_back is None else _module(frame.f_back)
        if caller is None or caller == callee:
            return
        low, high = self._rank(caller), self._rank(callee)
        if low is not None and high is not None and low < high:
            self.climbs[caller, callee] += 1

    def _rank(self, module: str) -> int | None:
        while module:
            if module in self._ranks:
                return self._ranks[module]
            module = module.rpartition(".")[0]
        return None


def _module(frame: FrameType) -> str | None:
    name = frame.f_globals.get("__name__", "")
    return name if name.partition(".")[0] in PACKAGES else None


def measure(show_files: bool) -> None:
    way = Way()
    threading.setprofile(way.profile)
    with tempfile.TemporaryDirectory() as folder, local_member(Path(folder)) as member, member.connect() as client:
        client.execute("create table t (a int)")
        client.execute("create table u (a int)")
        client.execute("insert into u select generate_series(1, 1000)")
        for name, sql in STATEMENTS.items():
            for _ in range(8):
                client.execute(sql, (1,), prepare=True)
            way.files.clear()
            way.climbs.clear()
            way.is_open = True
            client.execute(sql, (2,), prepare=True)
            way.is_open = False
            print(f"{name}: {len(way.files)} files, {len(way.climbs)} climbs between files")
            if show_files:
                print(*(f"    {count:5}  {file}" for file, count in sorted(way.files.items())), sep="\n")
                print(*(f"    {count:5}  {low} -> {high}" for (low, high), count in way.climbs.items()), sep="\n")
    threading.setprofile(None)  # type: ignore[arg-type]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", action="store_true")
    measure(options.parse_args().files)
    return 0


if __name__ == "__main__":
    sys.exit(main())

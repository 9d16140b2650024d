"""Mutations of one line, which are planted while their module is imported in a separate process; no file is written.

A program of such faults has a list of them and a function that hunts one; `run_hunts` does the rest:

    python PROGRAM            # all, as a table; exit status 1 if one is not found
    python PROGRAM NUMBER     # that one, from 0: what was found
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

_ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault. module: the module that has it. line: the text that is replaced, which occurs in it once."""

    fault: str
    module: str
    line: str
    instead: str


def plant(fault: Fault) -> None:
    """Make the next import of the module contain the fault."""
    assert fault.module not in sys.modules, "it has been imported already"
    sys.meta_path.insert(0, _Planter(fault))


_Fault = TypeVar("_Fault", bound=Fault)


def run_hunts(program: str, faults: Sequence[_Fault], hunt: Callable[[_Fault], str | None]) -> int:
    """Run the hunts that the command line asks for. Returns the exit status. program: the path of the calling program.
    hunt: plants a fault in this process and returns what was found, on one line, or None.
    """
    if sys.argv[1:]:
        print(hunt(faults[int(sys.argv[1])]) or "")
        return 0
    survivors, width = 0, max(len(fault.fault) for fault in faults)
    for number, fault in enumerate(faults):
        found = hunted(program, number)
        survivors += found is None
        print(f"{number + 1:>3}  {fault.fault:<{width}}  {(found or 'NOT FOUND')[:120]}", flush=True)
    print(f"{len(faults) - survivors} of {len(faults)} found")
    return min(survivors, 1)


def hunted(program: str, number: int) -> str | None:
    """Hunt one of a program's faults in a separate process. Returns what was found, or None."""
    done = subprocess.run(
        [sys.executable, program, str(number)], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip() or None


class _Planter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer that loads one module with the fault in it."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._path = _ROOT / (fault.module.replace(".", "/") + ".py")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._fault.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        del spec

    def exec_module(self, module: ModuleType) -> None:
        source = self._path.read_text()
        assert source.count(self._fault.line) == 1, f"{self._fault.fault}: {self._fault.line!r} is not there once"
        exec(compile(source.replace(self._fault.line, self._fault.instead), str(self._path), "exec"), vars(module))

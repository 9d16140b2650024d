"""Faults of one line, planted while their module is imported, in a process of its own; nothing is written."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

_ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Fault:
    """module: where. line: the text that is replaced, which is there once."""

    fault: str
    module: str
    line: str
    instead: str


def plant(fault: Fault) -> None:
    """Have the module imported with the fault in it, from now on."""
    assert fault.module not in sys.modules, "it has been imported already"
    sys.meta_path.insert(0, _Planter(fault))


class _Planter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with the fault in it."""

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

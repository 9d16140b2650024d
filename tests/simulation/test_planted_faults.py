"""The lists of planted faults: each fault replaces a text that its module has once. (`make mutants` plants them.)"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.planting import Fault

TESTS = Path(__file__).parents[1]
PROGRAMS = (
    ("exploration/mutants.py", "MUTANTS"),
    ("simulation/planted_faults.py", "FAULTS"),
    ("simulation/planted_storage_faults.py", "FAULTS"),
    ("simulation/planted_group_faults.py", "FAULTS"),
    ("simulation/planted_writing_faults.py", "FAULTS"),
)


@pytest.mark.parametrize(("program", "name"), PROGRAMS)
def test_each_text_is_there_once(program: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The programs extend the path, since they are also run alone.
    monkeypatch.setattr(sys, "path", list(sys.path))
    specification = importlib.util.spec_from_file_location(f"{Path(program).stem}_listed", TESTS / program)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, specification.name, module)
    specification.loader.exec_module(module)
    faults: Sequence[Fault] = getattr(module, name)
    sources = {fault.module: TESTS.parent / (fault.module.replace(".", "/") + ".py") for fault in faults}
    texts = {name: path.read_text() for name, path in sources.items()}
    assert [fault.fault for fault in faults if texts[fault.module].count(fault.line) != 1] == []

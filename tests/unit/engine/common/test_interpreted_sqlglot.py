"""sqlglot beside compiled modules, which sqlglotc installs into its folder."""

from __future__ import annotations

import importlib.machinery
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlglot

import engine
from engine.common.interpreted_sqlglot import load_from_source

_ROOT = Path(engine.__file__).parents[1]
_PRINT = "from engine.sql.trees.dialects import snippet, to_sql; print(to_sql(snippet('$1 + 1', 'local'), 'local'))"


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A folder with sqlglot in it and, beside its generator and parser, extension modules of those names that cannot be loaded."""
    package = tmp_path / "sqlglot"
    package.mkdir()
    for part in Path(sqlglot.__file__).parent.iterdir():
        (package / part.name).symlink_to(part)
    for name in ("generator", "parser"):
        (package / f"{name}{importlib.machinery.EXTENSION_SUFFIXES[0]}").touch()
    return tmp_path


def _run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(_ROOT)])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_python_would_load_them(compiled: Path) -> None:
    assert "ImportError" in _run(compiled, "import sqlglot").stderr


@pytest.mark.parametrize("first", ["import engine", "import server.member", "import server.cli.main, server.serving"])
def test_we_load_sources(compiled: Path, first: str) -> None:
    ran = _run(compiled, f"{first}; import sqlglot.generator; print(sqlglot.generator.__file__); {_PRINT}")
    assert ran.stdout.splitlines() == [str(compiled / "sqlglot" / "generator.py"), "arg__1 + 1"], ran.stderr


def test_compiled_modules_that_are_loaded_already_are_named() -> None:
    loaded = "import sys, types; m = types.ModuleType('sqlglot.generator'); m.__file__ = 'generator.so'"
    ran = _run(_ROOT, f"{loaded}; sys.modules['sqlglot.generator'] = m; import engine")
    assert ran.stderr.splitlines()[-1].endswith("or uninstall sqlglotc (pip uninstall sqlglotc)")


def test_it_is_arranged_once() -> None:
    before = list(sys.meta_path)
    load_from_source()
    assert sys.meta_path == before

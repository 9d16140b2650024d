"""Checks an edit: format, lint, types and import contracts of everything, and the unit tests nearest to the change.

    python scripts/check.py [--since COMMIT]

The changed files are those that differ from COMMIT, including files that git does not track yet. COMMIT defaults to
HEAD, or if nothing differs from HEAD, to the commit before it. The import graph selects the tests: those of
`tests/unit`, `tests/properties` and `tests/golden` that import a changed module, directly or through `tests/support`;
if there are none, those that import an importer of it, and so on. Half of the tree imports some modules: then only the
`FILES_MAX` nearest test files run, those of the folder that mirrors the module's first, and the rest is left to `make
test`. Of each parametrized test `CASES_MAX` cases run.

Types are checked while the tests run. The exit status is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).resolve().parent.parent
BIN: Final = Path(sys.executable).parent
PACKAGES: Final = ("wire", "engine", "server")
FILES_MAX: Final = 12
CASES_MAX: Final = 6
_TESTED: Final = ("tests/unit", "tests/properties", "tests/golden")


def changed_files(since: str) -> list[Path]:
    """Return the paths of Python files below the root that differ from a commit, or are new."""
    differing = [*_git("diff", "--name-only", since), *_git("ls-files", "--others", "--exclude-standard")]
    return [path for path in map(Path, differing) if path.suffix == ".py" and (ROOT / path).exists()]


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


@dataclass(frozen=True)
class Tests:
    """The test files, and the product's modules that each imports, directly or through `tests/support`."""

    graph: grimp.ImportGraph
    _support: dict[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def imports(self) -> dict[Path, frozenset[str]]:
        files = [path for folder in _TESTED for path in sorted((ROOT / folder).rglob("test_*.py"))]
        return {path.relative_to(ROOT): self._imports_of(path) for path in files}

    def near(self, changed: Iterable[Path]) -> list[Path]:
        """Return the test files for changed files, the nearest first, each once."""
        found: dict[Path, None] = {}
        for path in changed:
            found |= dict.fromkeys(self._near_file(path))
        return list(found)

    def _near_file(self, path: Path) -> list[Path]:
        if path in self.imports:
            return [path]
        if path.parts[:2] == ("tests", "support"):
            name = f"support.{path.stem}"
            return [test for test in self.imports if name in _imported(ROOT / test)]
        return self._near_module(path) if path.parts[0] in PACKAGES else []

    def _near_module(self, path: Path) -> list[Path]:
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        folder = Path("tests/unit", *path.parts[:2]) if len(path.parts) > 2 else Path("tests/unit", path.parts[0])
        ring, seen = {module}, {module}
        while ring:
            tests = [test for test, imported in self.imports.items() if imported & ring]
            if tests:
                return sorted(tests, key=lambda test: (not test.is_relative_to(folder), len(self.imports[test])))
            ring = {importer for name in ring for importer in self._importers(name)} - seen
            seen |= ring
        return []

    def _importers(self, module: str) -> set[str]:
        return self.graph.find_modules_that_directly_import(module) if module in self.graph.modules else set()

    def _imports_of(self, path: Path) -> frozenset[str]:
        found = set[str]()
        for name in _imported(path):
            if name.split(".")[0] in PACKAGES:
                found.add(name)
            elif name.startswith("support."):
                found |= self._support_imports(name)
        return frozenset(found)

    def _support_imports(self, name: str) -> frozenset[str]:
        if name not in self._support:
            self._support[name] = frozenset()
            path = ROOT / "tests" / f"{name.replace('.', '/')}.py"
            self._support[name] = self._imports_of(path) if path.exists() else frozenset()
        return self._support[name]


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _run(*words: str) -> bool:
    print(f"$ {' '.join(words)}", flush=True)
    return subprocess.run([str(BIN / words[0]), *words[1:]], cwd=ROOT, check=False).returncode == 0


def _run_tests(files: list[Path]) -> bool:
    if not files:
        print("no unit test imports what changed")
        return True
    if len(files) > FILES_MAX:
        print(f"{len(files) - FILES_MAX} more test files import what changed: make test runs them")
    # One process: the chosen tests are short, and a second process would collect them again beside the type checker.
    return _run("pytest", "-q", "-m", "not long", "--cases", str(CASES_MAX), *map(str, files[:FILES_MAX]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="HEAD", help="the commit to compare with [HEAD]")
    since: str = parser.parse_args().since
    changed = changed_files(since) or changed_files(f"{since}~1")
    types = subprocess.Popen([str(BIN / "mypy")], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    passed = [_run("ruff", "format", "--check", "."), _run("ruff", "check", "."), _run("lint-imports")]
    graph = grimp.build_graph(*PACKAGES)
    passed.append(_run_tests(Tests(graph).near(changed)))
    output, _ = types.communicate()
    print(f"$ mypy\n{output}", end="")
    return 0 if all(passed) and types.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

"""Figures of the code's structure, and the limits that `make lint` enforces.

    python scripts/house.py            # print the figures
    python scripts/house.py --check    # exit status 1 if a figure is over its limit, or if the map in docs/architecture.md is old
    python scripts/house.py --map      # write that map

Imports are counted wherever they are: under TYPE_CHECKING and inside functions too. A limit is the best figure so far;
it is lowered whenever the figure is.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("wire", "engine", "server")
Graph = Mapping[str, Set[str]]
#: The limit of functions in a class's body, properties included, whether it composes others or not.
METHODS_MAX: Final = 25
#: The limit of import statements in a module, wherever they are.
IMPORTS_MAX: Final = 30

#: First words of docstrings that are clauses without a subject.
_HEADLESS: Final = re.compile(
    r"(What|Who|Whom|Whose|Of|As|Those|That|Since|From where|How much is|Which)\b(?! is\b.*\?)"
)
#: A function's name that is a participle and nothing else: `told`, `_kept`.
_PARTICIPLE: Final = re.compile(r"_*[a-z]+(ed|wn|old|ept|ead|ade|ent|ound|aid|ought|iven|one|een|hosen|ritten|ing)$")
#: Nouns, verbs and adverbs with such an ending.
_NOT_PARTICIPLES: Final = frozenset(
    [
        "accept",
        "announcement",
        "argument",
        "assignment",
        "between",
        "bound",
        "cascade",
        "ceiling",
        "client",
        "comment",
        "environment",
        "complement",
        "cstring",
        "current",
        "done",
        "down",
        "element",
        "encoding",
        "event",
        "exponent",
        "feed",
        "fold",
        "fragment",
        "grouping",
        "hold",
        "increment",
        "moment",
        "movement",
        "need",
        "nothing",
        "one",
        "ordering",
        "ping",
        "proceed",
        "quotient",
        "read",
        "replacement",
        "requirement",
        "ring",
        "round",
        "seed",
        "send",
        "sent",
        "setting",
        "shutdown",
        "spawn",
        "statement",
        "string",
        "substring",
        "thing",
        "upgrade",
        "warning",
        "zone",
    ]
)


@dataclass(frozen=True)
class House:
    """The modules of `PACKAGES`, parsed."""

    @cached_property
    def trees(self) -> Mapping[str, ast.Module]:
        paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
        return {_module(path): ast.parse(path.read_text()) for path in paths}

    @cached_property
    def imports(self) -> Graph:
        """The modules that each module imports."""
        return {name: frozenset(self._imported(tree)) - {name} for name, tree in self.trees.items()}

    def _imported(self, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.trees)
            elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in self.trees:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in self.trees else node.module

    @cached_property
    def rooms(self) -> Graph:
        """The packages that each package imports. Parents and children count as packages of their own."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, imported in self.imports.items():
            found[_room(name)] |= {_room(other) for other in imported} - {_room(name)}
        return found

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [n for tree in self.trees.values() for n in ast.walk(tree) if isinstance(n, _FUNCTIONS)]

    def figures(self) -> Mapping[str, int]:
        """Return each figure by its name; for all of them less is better."""
        documented = (*self.trees.values(), *self.functions, *self._classes())
        docstrings = [text for node in documented if (text := ast.get_docstring(node)) is not None]
        loose = [name for name in self.trees if name.count(".") == 1 and not self._is_package(name)]
        return {
            "circles of modules": len(circles(self.imports)),
            "modules in circles": sum(map(len, circles(self.imports))),
            "pairs of packages that import each other": sum(
                one < other and one in self.rooms.get(other, ()) for one in self.rooms for other in self.rooms[one]
            ),
            "loose modules of engine": sum(name.startswith("engine.") for name in loose),
            "loose modules of wire": sum(name.startswith("wire.") for name in loose),
            "methods of the largest class": max(_methods(node) for node in self._classes()),
            f"classes of more than {METHODS_MAX} methods": sum(
                _methods(node) > METHODS_MAX for node in self._classes()
            ),
            "imports of the module with most": max(map(_import_statements, self.trees.values())),
            f"modules of more than {IMPORTS_MAX} imports": sum(
                _import_statements(tree) > IMPORTS_MAX for tree in self.trees.values()
            ),
            "docstrings without a subject": sum(bool(_HEADLESS.match(text)) for text in docstrings),
            "functions named by a participle": sum(_is_participle(node.name) for node in self.functions),
        }

    def _classes(self) -> list[ast.ClassDef]:
        return [n for tree in self.trees.values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]

    @staticmethod
    def _is_package(name: str) -> bool:
        return (ROOT / name.replace(".", "/")).is_dir()


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def circles(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components of more than one node (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            component = stack[stack.index(node) :]
            del stack[-len(component) :]
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(name: str) -> str:
    return name if House._is_package(name) else name.rpartition(".")[0]


def _methods(node: ast.ClassDef) -> int:
    return sum(isinstance(inner, _FUNCTIONS) for inner in node.body)


def _import_statements(tree: ast.Module) -> int:
    return sum(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(tree))


def _is_participle(name: str) -> bool:
    return name.strip("_") not in _NOT_PARTICIPLES and _PARTICIPLE.fullmatch(name) is not None


def rooms() -> str:
    """Return the packages as rows of a table: a path, and the first sentence of the package's docstring."""
    rows = ["| room | what it has |", "|---|---|"]
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")):
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        sentence = re.split(r"\.(?:\s|$)", " ".join(said.split()), maxsplit=1)[0]
        rows.append(f"| `{path.parent.relative_to(ROOT)}` | {sentence}. |")
    return "\n".join(rows)


def with_map(page: str) -> str:
    """Return a page with the table of `rooms` between its marks."""
    before, rest = page.split(_MAP_BEGINS)
    return f"{before}{_MAP_BEGINS}\n{rooms()}\n{_MAP_ENDS}{rest.split(_MAP_ENDS)[1]}"


_PAGE: Final = ROOT / "docs" / "architecture.md"
_MAP_BEGINS: Final = "<!-- rooms: written by scripts/house.py --map -->"
_MAP_ENDS: Final = "<!-- end of rooms -->"
#: The limits: the best figures so far.
LIMITS: Final[Mapping[str, int]] = {
    "circles of modules": 0,
    "modules in circles": 0,
    "pairs of packages that import each other": 0,
    "loose modules of engine": 1,
    "loose modules of wire": 3,
    "methods of the largest class": METHODS_MAX,
    f"classes of more than {METHODS_MAX} methods": 0,
    "imports of the module with most": IMPORTS_MAX,
    f"modules of more than {IMPORTS_MAX} imports": 0,
    "docstrings without a subject": 0,
    "functions named by a participle": 5,
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    options.add_argument("--map", action="store_true")
    chosen = options.parse_args()
    page = _PAGE.read_text()
    if chosen.map:
        _PAGE.write_text(with_map(page))
        return 0
    if chosen.check and with_map(page) != page:
        print("the map in docs/architecture.md is not the tree's: python scripts/house.py --map")
        return 1
    house = House()
    figures = house.figures()
    for name, figure in figures.items():
        print(f"{figure:6}  {name}" + (f" (limit {LIMITS[name]})" if figure > LIMITS.get(name, figure) else ""))
    over = [name for name, figure in figures.items() if figure > LIMITS.get(name, figure)]
    if over and not chosen.check:
        return 0
    for circle in circles(house.imports) if over else ():
        print("circle:", *circle)
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())

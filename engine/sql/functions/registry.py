"""The loaded function table: every row of this package's modules, found by kind, name and arity.

Each sibling module declares `ROWS: tuple[Function, ...]`; a new family of functions is a new file. The binder
(`engine.sql.binder.resolution`, `.coercion`) looks candidates up here and chooses among them by PostgreSQL's rules
(chapter 10); the system catalog lists `Registry.rows`. This module does not decide which row matches a call. Candidates
include PostgreSQL's signatures that have no row (`signatures`): choosing one of those is 0A000.

Source: PostgreSQL 15, chapter 10 (type conversion); pg_proc, pg_operator and pg_cast.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import engine.sql.functions as package
from engine.plan_ir.expr import Function
from engine.sql.functions import signatures
from wire.types import pg_types as t

#: Kinds that share the namespace of function calls (pg_proc): `count` is found beside `abs`.
CALLABLE: Final = frozenset({"function", "aggregate", "ordered_set", "window"})


class Registry:
    """The rows, indexed for the binder. Immutable once built; two rows of one signature are refused."""

    def __init__(self, rows: Iterable[Function], absent: Iterable[Function] = ()) -> None:
        self.rows: tuple[Function, ...] = tuple(rows)
        missing = tuple(absent)
        self._absent = frozenset(missing)
        self._functions: dict[str, list[Function]] = defaultdict(list)
        self._operators: dict[tuple[str, int], list[Function]] = defaultdict(list)
        self._casts: dict[tuple[t.PgType, t.PgType], Function] = {}
        seen: set[tuple[object, ...]] = set()
        for row in (*self.rows, *missing):
            self._index(row, seen)

    def _index(self, row: Function, seen: set[tuple[object, ...]]) -> None:
        space = "function" if row.kind in CALLABLE else row.kind
        signature = (space, row.name, row.args, row.returns if space == "cast" else None, row.variadic)
        if signature in seen:
            raise ValueError(f"the function table has two rows {row.kind} {row!r}")
        seen.add(signature)
        if space == "function":
            self._functions[row.name].append(row)
        elif space == "operator":
            self._operators[row.name, len(row.args)].append(row)
        else:
            self._casts[row.args[0], row.returns] = row

    def functions(self, name: str) -> tuple[Function, ...]:
        """Return every function, aggregate and window function of a name (already folded)."""
        return tuple(self._functions.get(name, ()))

    def operators(self, symbol: str, arity: int) -> tuple[Function, ...]:
        """Return every operator of a symbol with 1 (prefix) or 2 operands."""
        return tuple(self._operators.get((symbol, arity), ()))

    def find_cast(self, source: t.PgType, target: t.PgType) -> Function | None:
        """Return the cast row for exactly this pair, as pg_cast would have it; None if there is none."""
        return self._casts.get((_declared_type(source), _declared_type(target)))

    def is_absent(self, row: Function) -> bool:
        """Return whether a row exists for resolution only: PostgreSQL has it, Sluice does not."""
        return row in self._absent

    def casts(self) -> Iterator[Function]:
        return iter(self._casts.values())


def _declared_type(typ: t.PgType) -> t.PgType:
    """Return the type as rows name it: all enums are one."""
    return t.ANYENUM if typ.category == "E" else typ


def load() -> Iterator[Function]:
    """Yield the rows of every module in this package that declares some, by module name."""
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if f"{package.__name__}.{module.name}" == __name__:
            continue
        yield from getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "ROWS", ())


@cache
def registry() -> Registry:
    """Return the process's function table."""
    rows = tuple(load())
    return Registry(rows, signatures.missing_signatures(rows))

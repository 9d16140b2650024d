"""LOCK TABLE and CHECKPOINT (gram.y: LockStmt, CheckPointStmt)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.parser.nodes.statements import Checkpoint, Lock, LockMode, QualifiedName, Statement
from engine.sql.parser.utility.reader import StatementReader

_MODES: Final[tuple[LockMode, ...]] = (
    "access share", "row share", "row exclusive", "share update exclusive", "share row exclusive", "share",
    "exclusive", "access exclusive",
)  # fmt: skip


def _lock(reader: StatementReader) -> Statement:
    reader.next()
    reader.take("table")
    names = reader.comma_list(lambda: _relation(reader))
    mode: LockMode = "access exclusive"
    if reader.take("in"):
        mode = _mode(reader)
        reader.expect("mode")
    reader.take("nowait")
    return Lock(tables=tuple(names), mode=mode, text="")


def _relation(reader: StatementReader) -> QualifiedName:
    """Read a relation_expr: [ONLY] name [*]."""
    reader.take("only")
    name = reader.qualified_name()
    reader.take_symbol("*")
    return name


def _mode(reader: StatementReader) -> LockMode:
    for mode in _MODES:
        if reader.take(*mode.split()):
            return mode
    reader.fail()


def _checkpoint(reader: StatementReader) -> Statement:
    reader.next()
    return Checkpoint(text="")


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"lock": _lock, "checkpoint": _checkpoint}

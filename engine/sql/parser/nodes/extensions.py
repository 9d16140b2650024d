"""Parse nodes of CREATE EXTENSION and DROP EXTENSION."""

from __future__ import annotations

from engine.sql.parser.nodes.statements import Statement
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateExtension(Statement):
    """redundant: the position of an option that was given before, from 1; None if there is none."""

    name: str
    if_not_exists: bool = False
    redundant: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropExtension(Statement):
    names: tuple[str, ...]
    if_exists: bool = False

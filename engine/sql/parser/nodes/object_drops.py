"""DROP of kinds of objects that cannot be created here, as fields: functions, triggers, languages ..."""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from engine.sql.parser.nodes.statements import QualifiedName, Statement
from wire.dataclass import dataclass

FunctionKind = Literal["function", "procedure", "routine", "aggregate"]
RelationPart = Literal["trigger", "rule", "policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a function that is named by them. written: as notices say its type (TypeNameToString)."""

    type: exp.DataType
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFunction:
    """arguments: those that are passed to it; None where only the name is said."""

    name: QualifiedName
    arguments: tuple[Argument, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunctions(Statement):
    kind: FunctionKind
    functions: tuple[NamedFunction, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPart(Statement):
    """DROP TRIGGER name ON relation, and such."""

    kind: RelationPart
    name: str
    relation: QualifiedName
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropObjects(Statement):
    """kind: as the command tag says it, in small letters."""

    kind: str
    names: tuple[QualifiedName, ...]
    if_exists: bool

"""Parse nodes of DROP for kinds of objects that cannot be created here: functions, triggers, languages ..."""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from engine.sql.parser.nodes.statements import QualifiedName, Statement
from wire.dataclass import dataclass

FunctionKind = Literal["function", "procedure", "routine", "aggregate"]
RelationPart = Literal["trigger", "rule", "policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument type in the name of a function. written: the type as notices print it (TypeNameToString)."""

    type: exp.DataType
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFunction:
    """A function with its argument types. arguments: the input arguments; None if only the name is given."""

    name: QualifiedName
    arguments: tuple[Argument, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunctions(Statement):
    kind: FunctionKind
    functions: tuple[NamedFunction, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPart(Statement):
    """DROP TRIGGER name ON relation, and the like."""

    kind: RelationPart
    name: str
    relation: QualifiedName
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropObjects(Statement):
    """DROP of other kinds of objects. kind: the words of the command tag, in lower case."""

    kind: str
    names: tuple[QualifiedName, ...]
    if_exists: bool

"""CREATE and ALTER DOMAIN, as `engine.sql.parser.utility.domains` reads them and `engine.statements.ddl.domain`
executes them.
"""

from __future__ import annotations

from sqlglot import exp

from engine.sql.parser.nodes.statements import Formula, QualifiedName, RenameRelation, SetSchema, Statement
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainConstraint:
    """A constraint of a domain. name: as written, or None. position: its position in the statement."""

    formula: Formula
    name: str | None = None
    position: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDomain(Statement):
    name: QualifiedName
    type: exp.DataType
    not_null: bool = False
    default: Formula | None = None
    checks: tuple[DomainConstraint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDomainDefault:
    """SET or DROP DEFAULT. formula: None drops it."""

    formula: Formula | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDomainNotNull:
    not_null: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AddDomainCheck:
    """ADD CHECK. valid: False for NOT VALID."""

    check: DomainConstraint
    valid: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateDomainConstraint:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDomainConstraint:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameDomainConstraint:
    name: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterDomain(Statement):
    name: QualifiedName
    action: (
        SetDomainDefault
        | SetDomainNotNull
        | AddDomainCheck
        | ValidateDomainConstraint
        | DropDomainConstraint
        | RenameDomainConstraint
        | RenameRelation
        | SetSchema
    )

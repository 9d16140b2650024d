"""DEFERRABLE and INITIALLY DEFERRED after a constraint, and SET CONSTRAINTS (gram.y: ConstraintAttributeSpec,
processCASbits, ConstraintsSetStmt; parse_utilcmd.c: transformConstraintAttrs, which reads the attributes after a
column's constraint).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.catalog.model.objects import Deferrable
from engine.sql.parser.lexical.lexer import Token
from engine.sql.parser.nodes.statements import SetConstraints
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import FeatureNotSupported, SqlSyntaxError


@dataclass(slots=True)
class _Said:
    deferrable: bool | None = None
    deferred: bool | None = None

    def result(self) -> Deferrable:
        if self.deferred:
            return "deferred"
        return "immediate" if self.deferrable else ""


def attributes(reader: StatementReader, *, of_column: bool, takes: bool) -> Deferrable:
    """Read the attributes that follow a constraint. of_column: whether the constraint belongs to a column definition.
    takes: whether it may be deferrable.
    """
    said = _Said()
    while (token := reader.token) and (clause := _clause(reader)) is not None:
        if of_column and not takes:
            _refuse_misplaced(clause, token)
        if not takes and clause in ("DEFERRABLE", "INITIALLY DEFERRED"):
            raise FeatureNotSupported("CHECK constraints cannot be marked DEFERRABLE")
        _note(clause, said, token, of_column=of_column)
    return said.result()


def refuse_stray(reader: StatementReader) -> bool:
    """Raises SqlSyntaxError for an attribute after a constraint that takes none; returns False if there is none."""
    token = reader.token
    clause = _clause(reader)
    if clause is None:
        return False
    return _refuse_misplaced(clause, token)


def _refuse_misplaced(clause: str, token: Token) -> bool:
    raise SqlSyntaxError(f"misplaced {clause} clause", position=token.start + 1)


def _clause(reader: StatementReader) -> str | None:
    for words in (("deferrable",), ("not", "deferrable"), ("initially", "deferred"), ("initially", "immediate")):
        if reader.take(*words):
            return " ".join(words).upper()
    return None


def _note(clause: str, said: _Said, token: Token, *, of_column: bool) -> None:
    place, value = ("deferrable", clause == "DEFERRABLE") if "ABLE" in clause else ("deferred", "RED" in clause)
    before = getattr(said, place)
    if before is not None and (of_column or before != value):
        names = "DEFERRABLE/NOT DEFERRABLE" if place == "deferrable" else "INITIALLY IMMEDIATE/DEFERRED"
        message = f"multiple {names} clauses not allowed" if of_column else "conflicting constraint properties"
        raise SqlSyntaxError(message, position=token.start + 1)
    setattr(said, place, value)
    if said.deferred and said.deferrable is False:
        message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE"
        raise SqlSyntaxError(message, position=token.start + 1)


def set_constraints(reader: StatementReader) -> SetConstraints:
    """Read SET CONSTRAINTS, after SET."""
    reader.expect("constraints")
    names = [] if reader.take("all") else reader.comma_list(reader.qualified_name)
    deferred = reader.take("deferred")
    if not deferred:
        reader.expect("immediate")
    return SetConstraints(names=tuple(names), deferred=deferred, text="")

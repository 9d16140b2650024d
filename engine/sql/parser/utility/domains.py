"""CREATE DOMAIN and ALTER DOMAIN (gram.y: CreateDomainStmt, AlterDomainStmt, RenameStmt)."""

from __future__ import annotations

from engine.sql.parser.nodes.domains import (
    AddDomainCheck,
    AlterDomain,
    CreateDomain,
    DomainConstraint,
    DropDomainConstraint,
    RenameDomainConstraint,
    SetDomainDefault,
    SetDomainNotNull,
    ValidateDomainConstraint,
)
from engine.sql.parser.nodes.statements import Formula, RenameRelation, SetSchema, Statement
from engine.sql.parser.utility.columns import formula, formula_in_parentheses, take_only_collation
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import SqlSyntaxError


def create_domain(reader: StatementReader) -> Statement:
    """Read CREATE DOMAIN, after these words."""
    name = reader.qualified_name()
    reader.take("as")
    typ = reader.type_name()
    default: Formula | None = None
    nullable: bool | None = None
    checks: list[DomainConstraint] = []
    while not reader.at_end() and not reader.symbol_at(";"):
        token = reader.token
        called = reader.name() if reader.take("constraint") else None
        if reader.word_at("check"):
            checks.append(_check(reader, called, token.start - reader.base))
        elif reader.word_at("null") or reader.words_at("not", "null"):
            said = reader.take("null") or not reader.take("not", "null")
            if nullable not in (None, said):
                raise SqlSyntaxError("conflicting NULL/NOT NULL constraints")
            nullable = said
        elif called is None and reader.take("default"):
            if default is not None:
                raise SqlSyntaxError("multiple default expressions")
            default = formula(reader, bare=True)
        elif called is None and reader.word_at("collate"):
            take_only_collation(reader, typ)
        else:
            _refuse_other(reader)
    return CreateDomain(
        name=name, type=typ, not_null=nullable is False, default=default, checks=tuple(checks), text=""
    )  # fmt: skip


def _refuse_other(reader: StatementReader) -> None:
    for words, what in ((("unique",), "unique"), (("primary", "key"), "primary key"), (("references",), "foreign key")):
        if reader.words_at(*words):
            raise SqlSyntaxError(f"{what} constraints not possible for domains")
    reader.fail()


def _check(reader: StatementReader, name: str | None, at: int) -> DomainConstraint:
    reader.expect("check")
    found = DomainConstraint(formula=formula_in_parentheses(reader), name=name, position=at)
    reader.take("no", "inherit")
    return found


def alter_domain(reader: StatementReader) -> Statement:
    """Read ALTER DOMAIN, after these words."""
    name = reader.qualified_name()
    if reader.take("set", "default"):
        return AlterDomain(name=name, action=SetDomainDefault(formula=formula(reader, bare=False)), text="")
    if reader.take("drop", "default"):
        return AlterDomain(name=name, action=SetDomainDefault(formula=None), text="")
    if reader.take("set", "not", "null"):
        return AlterDomain(name=name, action=SetDomainNotNull(not_null=True), text="")
    if reader.take("drop", "not", "null"):
        return AlterDomain(name=name, action=SetDomainNotNull(not_null=False), text="")
    if reader.take("set", "schema"):
        return AlterDomain(name=name, action=SetSchema(schema=reader.name()), text="")
    if reader.take("rename", "to"):
        return AlterDomain(name=name, action=RenameRelation(to=reader.name()), text="")
    if reader.take("rename", "constraint"):
        old = reader.name()
        reader.expect("to")
        return AlterDomain(name=name, action=RenameDomainConstraint(name=old, to=reader.name()), text="")
    if reader.take("drop", "constraint"):
        exists = reader.take("if", "exists")
        action = DropDomainConstraint(name=reader.name(), if_exists=exists)
        reader.behaviour()
        return AlterDomain(name=name, action=action, text="")
    if reader.take("add"):
        at = reader.token.start - reader.base
        called = reader.name() if reader.take("constraint") else None
        check = _check(reader, called, at)
        return AlterDomain(
            name=name, action=AddDomainCheck(check=check, valid=not reader.take("not", "valid")), text=""
        )
    if reader.take("validate", "constraint"):
        return AlterDomain(name=name, action=ValidateDomainConstraint(name=reader.name()), text="")
    reader.fail()

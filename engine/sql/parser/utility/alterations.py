"""ALTER TABLE, VIEW, SEQUENCE, INDEX and SCHEMA, and COMMENT (gram.y: AlterTableStmt, RenameStmt, AlterObjectSchemaStmt,
AlterSeqStmt, CommentStmt)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Final, Literal

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.privileges import AlterOwner
from engine.sql.parser.nodes.statements import (
    AddColumn,
    AddConstraint,
    AlterConstraint,
    AlterSchema,
    AlterSequence,
    AlterTable,
    AlterViewOptions,
    Comment,
    DropColumn,
    DropConstraint,
    DropExpression,
    QualifiedName,
    RelationKind,
    RenameColumn,
    RenameConstraint,
    RenameRelation,
    SequenceOptions,
    SetColumnType,
    SetDefault,
    SetIdentity,
    SetNotNull,
    SetSchema,
    Statement,
    TableAction,
    ValidateConstraint,
)
from engine.sql.parser.utility.columns import (
    column,
    formula,
    generation,
    table_constraint,
    table_constraint_at,
    take_collation,
)
from engine.sql.parser.utility.columns import options as reloptions
from engine.sql.parser.utility.deferrable import attributes
from engine.sql.parser.utility.domains import alter_domain
from engine.sql.parser.utility.privileges import alter_default_privileges
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.role_names import role_spec
from engine.sql.parser.utility.roles import KINDS as ROLES
from engine.sql.parser.utility.roles import alter_role
from engine.sql.parser.utility.sequences import options_in_parentheses, sequence_options
from engine.sql.parser.utility.types import alter_type
from engine.sql.parser.utility.unsupported import refuse
from wire.errors import FeatureNotSupported, SqlSyntaxError

_RELATIONS: Final[tuple[tuple[tuple[str, ...], RelationKind], ...]] = (
    (("foreign", "table"), "foreign table"),
    (("materialized", "view"), "materialized view"),
    (("table",), "table"),
    (("view",), "view"),
    (("sequence",), "sequence"),
    (("index",), "index"),
)


def _alter(reader: StatementReader) -> Statement:
    start = reader.at
    reader.next()
    if reader.take("schema"):
        return _alter_schema(reader)
    for kind, alter in (("type", alter_type), ("domain", alter_domain)):
        if reader.take(kind):
            return _of_type(reader, kind, alter)
    if reader.words_at("database") and reader.word_at("owner", ahead=2):
        reader.next()
        return _owner(reader, "database", QualifiedName(schema=None, name=reader.name()))
    if reader.take("default", "privileges"):
        return alter_default_privileges(reader)
    for words, kind in _RELATIONS:
        if reader.take(*words):
            return _alter_relation(reader, kind)
    if reader.word_at(*ROLES) and not reader.word_at("mapping", ahead=1):
        return alter_role(reader)
    reader.at = start
    refuse(reader)


def _of_type(reader: StatementReader, kind: str, alter: Callable[[StatementReader], Statement]) -> Statement:
    start = reader.at
    name = reader.qualified_name()
    if reader.word_at("owner"):
        return _owner(reader, kind, name)
    reader.at = start
    return alter(reader)


def _alter_schema(reader: StatementReader) -> Statement:
    name = reader.name()
    if reader.word_at("owner"):
        return _owner(reader, "schema", QualifiedName(schema=None, name=name))
    reader.expect("rename", "to")
    return AlterSchema(name=name, to=reader.name(), text="")


def _owner(reader: StatementReader, kind: str, name: QualifiedName, exists: bool = False) -> Statement:
    reader.expect("owner")
    reader.expect("to")
    return AlterOwner(kind=kind, name=name, owner=role_spec(reader), if_exists=exists, text="")


def _alter_relation(reader: StatementReader, kind: RelationKind) -> Statement:
    exists = reader.take("if", "exists")
    if kind in ("table", "foreign table"):
        reader.take("only")
    name = reader.qualified_name()
    reader.take_symbol("*")
    if kind == "sequence" and not reader.word_at("rename", "set", "owner"):
        return _alter_sequence(reader, name, exists)
    if reader.word_at("owner"):
        return _owner(reader, kind, name, exists)
    if kind == "view" and (written := _view_options(reader)):
        return AlterViewOptions(name=name, options=written, if_exists=exists, text="")
    return AlterTable(kind=kind, name=name, actions=_actions(reader), if_exists=exists, text="")


def _view_options(reader: StatementReader) -> tuple[tuple[str, str | None], ...]:
    """Read SET or RESET of options; return nothing if something else comes next."""
    if not reader.symbol_at("(", ahead=1):
        return ()
    if reader.take("set"):
        return reloptions(reader)
    if reader.take("reset"):
        return tuple((name, None) for name, _ in reloptions(reader))
    return ()


def _alter_sequence(reader: StatementReader, name: QualifiedName, exists: bool) -> Statement:
    first = reader.token
    options = sequence_options(reader)
    if reader.token is first:
        reader.fail()
    return AlterSequence(name=name, options=options, if_exists=exists, text="")


def _actions(reader: StatementReader) -> tuple[TableAction, ...]:
    """Read one renaming or move, or a list of changes."""
    if reader.take("rename"):
        return (_rename(reader),)
    if reader.take("set", "schema"):
        return (SetSchema(schema=reader.name()),)
    return tuple(reader.comma_list(lambda: _action(reader)))


def _rename(reader: StatementReader) -> TableAction:
    if reader.take("to"):
        return RenameRelation(to=reader.name())
    if reader.take("constraint"):
        name = reader.name()
        reader.expect("to")
        return RenameConstraint(name=name, to=reader.name())
    reader.take("column")
    name = reader.name()
    reader.expect("to")
    return RenameColumn(name=name, to=reader.name())


def _action(reader: StatementReader) -> TableAction:
    """Read an alter_table_cmd."""
    token = reader.token
    if reader.take("add"):
        return _add(reader)
    if reader.take("drop"):
        return _drop(reader)
    if reader.take("alter", "constraint"):
        return _alter_constraint(reader)
    if reader.take("alter"):
        reader.take("column")
        return _alter_column(reader)
    if reader.take("validate", "constraint"):
        return ValidateConstraint(name=reader.name())
    words = [t.text.upper() for t in (token, reader.peek(1)) if t.kind is Kind.WORD]
    if token.kind is not Kind.WORD or token.text not in _REFUSED:
        reader.fail()
    reader.raise_unsupported("ALTER TABLE ... " + " ".join(words), token)


_COLUMN_SETTINGS: Final = ("statistics", "storage", "compression", "(")
#: The other words with which an alter_table_cmd begins.
_REFUSED: Final = frozenset(
    (
        "attach", "cluster", "detach", "disable", "enable", "force", "inherit", "no", "not", "of", "options", "owner",
        "replica", "reset", "set",
    )
)  # fmt: skip


def _add(reader: StatementReader) -> TableAction:
    if table_constraint_at(reader):
        return AddConstraint(constraint=table_constraint(reader))
    reader.take("column")
    missing = reader.take("if", "not", "exists")
    return AddColumn(column=column(reader, ""), if_not_exists=missing)


def _drop(reader: StatementReader) -> TableAction:
    constraint = reader.take("constraint")
    if not constraint:
        reader.take("column")
    exists = reader.take("if", "exists")
    name = reader.name()
    cascade = reader.behaviour()
    if constraint:
        return DropConstraint(name=name, if_exists=exists, cascade=cascade)
    return DropColumn(name=name, if_exists=exists, cascade=cascade)


def _alter_constraint(reader: StatementReader) -> TableAction:
    name = reader.name()
    deferrable = attributes(reader, of_column=False, takes=True)
    for words in (("not", "valid"), ("no", "inherit")):
        if reader.take(*words):
            raise FeatureNotSupported(f"FOREIGN KEY constraints cannot be marked {' '.join(words).upper()}")
    return AlterConstraint(name=name, deferrable=deferrable)


def _alter_column(reader: StatementReader) -> TableAction:
    start = reader.token.start - reader.base
    name = reader.name()
    if reader.take("set", "default"):
        return SetDefault(name=name, formula=formula(reader, bare=False))
    if reader.take("drop", "default"):
        return SetDefault(name=name, formula=None)
    if reader.take("set", "not", "null"):
        return SetNotNull(name=name, not_null=True)
    if reader.take("drop", "not", "null"):
        return SetNotNull(name=name, not_null=False)
    if reader.take("set", "data", "type") or reader.take("type"):
        return _type(reader, name, start)
    return _identity(reader, name)


def _type(reader: StatementReader, name: str, start: int) -> TableAction:
    typ = reader.type_name()
    take_collation(reader, typ)
    using = formula(reader, bare=False) if reader.take("using") else None
    return SetColumnType(name=name, type=typ, using=using, position=start)


def _identity(reader: StatementReader, name: str) -> TableAction:
    if reader.take("add", "generated"):
        identity = generation(reader)
        reader.expect("as", "identity")
        return SetIdentity(name=name, identity=identity, options=options_in_parentheses(reader), add=True)
    if reader.take("drop", "identity"):
        return SetIdentity(name=name, identity="", if_exists=reader.take("if", "exists"))
    if reader.word_at("reset") or (reader.word_at("set") and reader.peek(1).text in _COLUMN_SETTINGS):
        reader.raise_unsupported(
            f"ALTER COLUMN ... {reader.token.text.upper()} {reader.peek(1).text.upper()}".rstrip("( ")
        )
    if reader.word_at("set", "restart"):
        return _set_identity(reader, name)
    if reader.take("drop", "expression"):
        return DropExpression(name=name, if_exists=reader.take("if", "exists"))
    reader.fail()


def _set_identity(reader: StatementReader, name: str) -> TableAction:
    """Read an alter_identity_column_option_list: SET GENERATED ..., SET option ... and RESTART, one after the other."""
    identity: Literal["always", "by default"] | None = None
    options = SequenceOptions()
    while reader.word_at("set", "restart"):
        if reader.take("set", "generated"):
            identity = generation(reader)
        else:
            reader.take("set")
            said = sequence_options(reader)
            options = replace(options, **{f.name: v for f in fields(said) if (v := getattr(said, f.name)) is not None})
    return SetIdentity(name=name, identity=identity, options=options)


# -- COMMENT -----------------------------------------------------------------------------------------------------


def _comment(reader: StatementReader) -> Statement:
    start = reader.at
    reader.next()
    reader.expect("on")
    if reader.take("schema"):
        return _comment_on_schema(reader)
    if reader.take("column"):
        return _comment_on_column(reader)
    if reader.word_at("type", "domain"):
        kind: Literal["type", "domain"] = "domain" if reader.next().text == "domain" else "type"
        name = reader.qualified_name()
        return Comment(kind=kind, name=name, comment=_comment_text(reader), text="")
    if reader.take("constraint"):
        part = reader.name()
        reader.expect("on")
        of_domain = reader.take("domain")
        name = reader.qualified_name()
        return Comment(
            kind="domain constraint" if of_domain else "constraint",
            name=name,
            part=part,
            comment=_comment_text(reader),
            text="",
        )
    for words, relation in _RELATIONS:
        if reader.take(*words):
            name = reader.qualified_name()
            return Comment(kind=relation, name=name, comment=_comment_text(reader), text="")
    reader.at = start
    refuse(reader)


def _comment_on_schema(reader: StatementReader) -> Statement:
    return Comment(kind="schema", name=reader.bare_name(), comment=_comment_text(reader), text="")


def _comment_on_column(reader: StatementReader) -> Statement:
    token = reader.token
    *relation, part = reader.any_name()
    if not relation:
        raise SqlSyntaxError("column name must be qualified")
    name = reader.relation(relation, token)
    return Comment(kind="column", name=name, part=part, comment=_comment_text(reader), text="")


def _comment_text(reader: StatementReader) -> str | None:
    reader.expect("is")
    if reader.take("null"):
        return None
    return reader.expect_kind(Kind.STRING).text


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"alter": _alter, "comment": _comment}

"""Columns and constraints as CREATE TABLE and ALTER TABLE write them (gram.y: columnDef, ColQualList,
TableConstraint).

`engine.statements.ddl.table` checks which of them may be combined, as in PostgreSQL, whose grammar accepts `a int null
not null`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final, Literal

from sqlglot import exp

from engine.catalog.model.objects import Deferrable, KeyAction
from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.lexical.positions import collated_at, mark_collated
from engine.sql.parser.nodes.statements import (
    ColumnDefinition,
    ConstraintDefinition,
    Formula,
    ReferencedKey,
    SequenceOptions,
)
from engine.sql.parser.utility.deferrable import attributes, refuse_stray
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.sequences import options_in_parentheses
from wire.errors import FeatureNotSupported, InvalidParameterValue, SqlSyntaxError, UndefinedObject

_KEY_ACTIONS: Final[tuple[KeyAction, ...]] = ("no action", "restrict", "cascade", "set null", "set default")
_CONSTRAINT_WORDS = ("constraint", "check", "unique", "primary", "foreign", "exclude")


@dataclass(slots=True)
class _Qualities:
    """The qualities of a column that have been read so far."""

    nullable: bool | None = None
    default: Formula | None = None
    identity: Literal["", "always", "by default"] = ""
    sequence: SequenceOptions | None = None
    generated: Formula | None = None
    constraints: list[ConstraintDefinition] = field(default_factory=list)


def formula(reader: StatementReader, *, bare: bool) -> Formula:
    """Read an expression: an a_expr, or a b_expr if `bare`."""
    start = reader.token.start
    tree = reader.bare_expression() if bare else reader.expression()
    return Formula(tree=tree, text=reader.text_since(start))


def formula_in_parentheses(reader: StatementReader) -> Formula:
    """Read an expression in parentheses. Its text is without redundant parentheses around the whole."""
    reader.expect_symbol("(")
    first = reader.at
    tree = reader.expression()
    tokens = reader.tokens[first : reader.at]
    while _is_enclosed(tokens):
        tokens = tokens[1:-1]
    reader.expect_symbol(")")
    return Formula(tree=tree, text=reader.sql[tokens[0].start : tokens[-1].end])


def _is_enclosed(tokens: Sequence[Token]) -> bool:
    """Whether the last token closes the parenthesis that the first one opens, unless it is that of a row."""
    signs = [token.text if token.kind is Kind.OPERATOR else "" for token in tokens]
    depths = list(accumulate({"(": 1, ")": -1}.get(sign, 0) for sign in signs))
    return depths[0] == 1 and depths.index(0) == len(tokens) - 1 and (",", 1) not in zip(signs, depths, strict=True)


def table_constraint_at(reader: StatementReader) -> bool:
    return reader.word_at(*_CONSTRAINT_WORDS)


def column(reader: StatementReader, table: str) -> ColumnDefinition:
    """Read a columnDef. table: the name of its table in error messages."""
    start = reader.token.start - reader.base
    name = reader.name()
    typ = reader.type_name()
    said = _Qualities()
    while _quality(reader, name, typ, table, said):
        pass
    return ColumnDefinition(
        name=name, type=typ, not_null=said.nullable is False, null=said.nullable is True, position=start, default=said.default,
        identity=said.identity, sequence=said.sequence, generated=said.generated, constraints=tuple(said.constraints),
    )  # fmt: skip


def _quality(reader: StatementReader, column: str, typ: exp.DataType, table: str, said: _Qualities) -> bool:
    """Read one of ColQualList; return False at its end."""
    token = reader.token
    name = reader.name() if reader.take("constraint") else None
    if reader.word_at("null") or reader.words_at("not", "null"):
        _nullability(reader, column, table, said, token)
    elif reader.take("default"):
        if said.default is not None:
            _fail("multiple default values specified", column, table, token)
        if said.identity:
            _fail("both default and identity specified", column, table, token)
        if said.generated:
            _fail("both default and generation expression specified", column, table, token)
        said.default = formula(reader, bare=True)
    elif reader.take("generated"):
        _generation_clause(reader, column, table, said, token)
    elif reader.word_at("check", "unique", "primary", "references"):
        said.constraints.append(_constraint(reader, name, token, own=column))
    elif name is None and reader.word_at("collate"):
        take_only_collation(reader, typ)
    elif name is None and reader.word_at("compression", "storage"):
        reader.raise_unsupported(reader.token.text.upper())
    elif name is not None:
        reader.fail()
    else:
        return refuse_stray(reader)
    return True


def _nullability(reader: StatementReader, column: str, table: str, said: _Qualities, token: Token) -> None:
    nullable = reader.take("null")
    if not nullable:
        reader.expect("not", "null")
    if said.nullable not in (None, nullable):
        _fail("conflicting NULL/NOT NULL declarations", column, table, token)
    said.nullable = nullable


def _generation_clause(reader: StatementReader, column: str, table: str, said: _Qualities, token: Token) -> None:
    start = reader.token
    identity: Literal["always", "by default"] = generation(reader)
    reader.expect("as")
    if reader.symbol_at("("):
        _expression(reader, column, table, said, token, start if identity == "by default" else None)
        return
    reader.expect("identity")
    if said.identity:
        _fail("multiple identity specifications", column, table, token)
    if said.default is not None:
        _fail("both default and identity specified", column, table, token)
    if said.generated:
        _fail("both identity and generation expression specified", column, table, token)
    said.identity = identity
    said.sequence = options_in_parentheses(reader)


def _expression(
    reader: StatementReader, column: str, table: str, said: _Qualities, token: Token, by_default: Token | None
) -> None:
    """Read (expression) STORED. by_default: the token of BY DEFAULT, if it was written."""
    found = formula_in_parentheses(reader)
    reader.expect("stored")
    if by_default is not None:
        message = "for a generated column, GENERATED ALWAYS must be specified"
        raise SqlSyntaxError(message, position=by_default.start + 1)
    if said.generated:
        _fail("multiple generation clauses specified", column, table, token)
    if said.default is not None:
        _fail("both default and generation expression specified", column, table, token)
    if said.identity:
        _fail("both identity and generation expression specified", column, table, token)
    said.generated = found


def generation(reader: StatementReader) -> Literal["always", "by default"]:
    """Read ALWAYS or BY DEFAULT."""
    if reader.take("always"):
        return "always"
    reader.expect("by", "default")
    return "by default"


def _fail(what: str, column: str, table: str, token: Token) -> None:
    raise SqlSyntaxError(f'{what} for column "{column}" of table "{table}"', position=token.start + 1)


def take_tablespace(reader: StatementReader, *, required: bool = False) -> None:
    """Read TABLESPACE name: only the default one exists."""
    if required:
        reader.expect("tablespace")
    elif not reader.take("tablespace"):
        return
    name = reader.name()
    if name == "pg_global":
        raise InvalidParameterValue("only shared relations can be placed in pg_global tablespace")
    if name != "pg_default":
        raise UndefinedObject(f'tablespace "{name}" does not exist')


def take_collation(reader: StatementReader, typ: exp.DataType | None = None) -> None:
    """Read COLLATE name, if it comes next. Text compares by bytes: the C collation is accepted, and the default, which
    is the same. typ: the type that it collates, where it is known; the binder checks it.
    """
    token = reader.token
    if not reader.take("collate"):
        return
    names = [reader.column_label().name]
    while reader.take_symbol("."):
        names.append(reader.column_label().name)
    if names[-1] not in ("C", "POSIX", "default", "ucs_basic") or names[:-1] not in ([], ["pg_catalog"]):
        reader.raise_unsupported(f'collation "{".".join(names)}"', token)
    if typ is not None:
        mark_collated(typ, token.start - reader.base)


def take_only_collation(reader: StatementReader, typ: exp.DataType) -> None:
    """Read COLLATE name among the qualities of a column or domain of a type, which may have only one."""
    if collated_at(typ) is not None:
        raise SqlSyntaxError("multiple COLLATE clauses not allowed", position=reader.token.start + 1)
    take_collation(reader, typ)


def table_constraint(reader: StatementReader) -> ConstraintDefinition:
    """Read a TableConstraint."""
    token = reader.token
    name = reader.name() if reader.take("constraint") else None
    if reader.word_at("exclude"):
        reader.raise_unsupported("EXCLUDE")
    if not reader.word_at("check", "unique", "primary", "foreign"):
        reader.fail()
    return _constraint(reader, name, token, own=None)


def _constraint(reader: StatementReader, name: str | None, token: Token, own: str | None) -> ConstraintDefinition:
    """Read a check or a key. own: the column that it follows, if any."""
    at = token.start - reader.base
    if reader.take("check"):
        condition = formula_in_parentheses(reader)
        reader.take("no", "inherit")
        made = ConstraintDefinition(kind="check", name=name, formula=condition, position=at)
    elif reader.take("unique"):
        alike = take_nulls_not_distinct(reader)
        columns, included = _key(reader, own)
        made = ConstraintDefinition(
            kind="unique", name=name, columns=columns, included=included, nulls_not_distinct=alike, position=at
        )
    elif reader.word_at("foreign", "references"):
        made = _foreign_key(reader, name, at, own)
    else:
        reader.expect("primary", "key")
        columns, included = _key(reader, own)
        made = ConstraintDefinition(kind="primary key", name=name, columns=columns, included=included, position=at)
    deferrable = attributes(reader, of_column=own is not None, takes=made.kind != "check")
    return replace(made, deferrable=deferrable, valid=own is not None or not _take_not_valid(reader, made, deferrable))


def _take_not_valid(reader: StatementReader, made: ConstraintDefinition, deferrable: Deferrable) -> bool:
    """Read NOT VALID, if it comes next (gram.y: processCASbits)."""
    token = reader.token
    if not reader.take("not", "valid"):
        return False
    if made.kind not in ("check", "foreign key"):
        raise FeatureNotSupported(f"{made.kind.upper()} constraints cannot be marked NOT VALID")
    if deferrable or (made.references is not None and made.references.full):
        reader.raise_unsupported("NOT VALID of a foreign key that is DEFERRABLE or MATCH FULL", token)
    return True


def take_nulls_not_distinct(reader: StatementReader) -> bool:
    """Read NULLS [NOT] DISTINCT, if it comes next; return whether nulls are equal."""
    if not reader.take("nulls"):
        return False
    alike = reader.take("not")
    reader.expect("distinct")
    return alike


def _key(reader: StatementReader, own: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the key's columns, and INCLUDE's, which only a table's constraint may have."""
    if own is None and reader.word_at("using"):
        reader.raise_unsupported("a key USING INDEX")
    columns = (own,) if own is not None else tuple(c.name for c in reader.names())
    included: tuple[str, ...] = ()
    if own is None and reader.take("include"):
        included = tuple(c.name for c in reader.names())
    if reader.take("with"):
        options(reader)
    if reader.take("using"):
        reader.expect("index")
        take_tablespace(reader, required=True)
    return columns, included


def _foreign_key(reader: StatementReader, name: str | None, at: int, own: str | None) -> ConstraintDefinition:
    """Read [FOREIGN KEY (columns)] REFERENCES table ..."""
    columns: tuple[str, ...] = (own,) if own is not None else ()
    if own is None:
        reader.expect("foreign", "key")
        columns = tuple(c.name for c in reader.names())
    reader.expect("references")
    table = reader.qualified_name()
    there = tuple(c.name for c in reader.names()) if reader.symbol_at("(") else ()
    full = _match(reader)
    actions: dict[str, KeyAction] = {}
    some: tuple[str, ...] = ()
    while reader.word_at("on"):
        at_event = reader.next().start + 1
        event = reader.next()
        if event.text not in ("update", "delete") or event.text in actions:
            reader.fail(event)
        actions[event.text] = action = _key_action(reader)
        if action in ("set null", "set default") and reader.symbol_at("("):
            some = tuple(c.name for c in reader.names())
            if event.text == "update":
                message = f"a column list with {action.upper()} is only supported for ON DELETE actions"
                raise FeatureNotSupported(message, position=at_event)
    key = ReferencedKey(
        table=table, columns=there, full=full, on_update=actions.get("update", "no action"),
        on_delete=actions.get("delete", "no action"), delete_columns=some,
    )  # fmt: skip
    return ConstraintDefinition(kind="foreign key", name=name, columns=columns, references=key, position=at)


def _match(reader: StatementReader) -> bool:
    """Read MATCH; return whether it is MATCH FULL."""
    start = reader.token
    if not reader.take("match") or reader.take("simple"):
        return False
    if reader.word_at("partial"):
        raise FeatureNotSupported("MATCH PARTIAL not yet implemented", position=start.start + 1)
    reader.expect("full")
    return True


def _key_action(reader: StatementReader) -> KeyAction:
    for action in _KEY_ACTIONS:
        if reader.take(*action.split()):
            return action
    reader.fail()


def options(reader: StatementReader) -> tuple[tuple[str, str], ...]:
    """Read reloptions: ( name [= value], ... ); values are in the form in which they are shown."""
    return tuple(reader.parenthesized_list(lambda: _option(reader)))


def _option(reader: StatementReader) -> tuple[str, str]:
    name = reader.column_label().name
    if reader.take_symbol("."):
        name = f"{name}.{reader.column_label().name}"
    if not reader.take_symbol("="):
        return name, "true"
    if reader.number_at():
        return name, reader.number()
    if reader.token.kind not in (Kind.STRING, Kind.WORD, Kind.NAME):
        reader.fail()
    return name, reader.next().text

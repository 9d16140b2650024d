"""Names in stored texts: the types, relations and sequences that defaults, checks and views mention.

A stored text is bound by every statement that uses it, whatever its search path is, so types are stored with their
schemas (`with_types_qualified`). A user who looks at a text should see each name as that user's own search path spells
it. Displayed texts therefore have OIDs between marks in place of names (`mark_names`), and the functions that show
definitions replace them by names (`engine.pg_catalog.system_function_sql`).

Rejected: one spelling for all users. pg_dump has an empty path and needs every schema; psql shows no schema that is not
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from sqlglot import exp

from engine.common.identifiers import quote_ident
from engine.sql.deparse.stored_text import sequence_literals
from engine.sql.parser.lexical.lexer import Token, tokenize
from engine.sql.parser.utility.reader import StatementReader
from wire.dataclass import dataclass

#: Surrounds a mark: a letter for the kind of object, and an OID.
MARK: Final = "\1"
#: Returns the OID of the type that a name refers to, by the written schema and the name.
TypeOid = Callable[[str | None, str], int | None]


@dataclass(frozen=True, slots=True)
class Named:
    """A relation that a text names. name: its current name. columns: the text's names of its columns, if they have
    been renamed since. only: the current names of the columns that the text knows, if the relation has more.
    """

    oid: int
    name: str
    columns: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


RelationNamed = Callable[[str | None, str], Named | None]


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    new: str


def with_types_qualified(text: str, schema_of: Callable[[str], str | None]) -> str:
    """Add a schema to each type in the text that has none. schema_of: returns the schema of a user-defined type, None
    for others.
    """
    read = _Read(text)
    edits = []
    for node, schema, name in read.types():
        found = None if schema is not None else schema_of(name)
        if found is not None:
            start = int(node.meta["start"])
            edits.append(_Edit(start, start, f"{quote_ident(found)}."))
    return _apply_edits(text, edits)


def mark_names(
    text: str, type_oid: TypeOid, relation: RelationNamed = lambda _schema, _name: None, *, sequences: bool = False
) -> str:
    """Return the text with its names marked. sequences: whether it names sequences by OID, as stored expressions do."""
    read = _Read(text)
    edits = [*read.marked_types(type_oid), *read.marked_relations(relation)]
    if sequences:
        edits += [
            _Edit(start := literal.meta["start"], read.end(start), _mark("q", int(literal.name)))
            for literal, _ in sequence_literals(read.tree)
            if literal.name.isdecimal()
        ]
    return _apply_edits(text, edits)


def names_type(text: str, name: str, *, array: bool | None = None) -> bool:
    """Return whether a stored expression or a view's query mentions a type of this name. array: whether only arrays of
    it count, or only the type itself; None for both.
    """
    if name not in text.lower() and name not in text:
        return False
    said = ((written, bool(node.args.get("array"))) for node, _, written in _Read(text).types())
    return any(written == name and array in (None, is_array) for written, is_array in said)


def mark_of_relation(oid: int) -> str:
    return _mark("r", oid)


def _mark(kind: str, oid: int) -> str:
    return f"{MARK}{kind}{oid}{MARK}"


class _Read:
    """A text and its tree, whose positions count from the text's beginning."""

    def __init__(self, text: str) -> None:
        self._tokens: Sequence[Token] = tokenize(text)
        self._at = {token.start: n for n, token in enumerate(self._tokens)}
        self.tree = _query_or_expression(StatementReader(text, self._tokens))

    def end(self, start: int, more: int = 0) -> int:
        """Return the end of the token that begins at `start`, or of the token that is `more` tokens after it."""
        return self._tokens[self._at[start] + more].end

    def types(self) -> Iterator[tuple[exp.DataType, str | None, str]]:
        for node in self.tree.find_all(exp.DataType):
            if "start" in node.meta and isinstance(node.args.get("kind"), exp.Identifier):
                yield node, node.args.get("schema") or None, node.args["kind"].name

    def marked_types(self, type_oid: TypeOid) -> Iterator[_Edit]:
        for node, schema, name in self.types():
            if (oid := type_oid(schema, name)) is not None:
                start = int(node.meta["start"])
                yield _Edit(start, self.end(start, 0 if schema is None else 2), _mark("t", oid))

    def marked_relations(self, relation: RelationNamed) -> Iterator[_Edit]:
        starred = any(isinstance(star.parent, exp.Select | exp.Column) for star in self.tree.find_all(exp.Star))
        for node in self.tree.find_all(exp.Table):
            schema = node.db or None
            if not isinstance(node.this, exp.Identifier) or (schema is None and _is_common(node)):
                continue
            if (found := relation(schema, node.name)) is None:
                continue
            start, alias = int(node.meta["start"]), node.args.get("alias")
            mark, only = mark_of_relation(found.oid), found.only if starred else ()
            if only:
                mark = f"(SELECT {', '.join(map(quote_ident, only))} FROM {mark})"  # noqa: S608 -- shown, never run
            if alias is None and (found.name != node.name or found.columns or only):
                mark += f" {quote_ident(node.name)}{_column_list(found.columns)}"
            yield _Edit(start, self.end(start, 2 * (len(node.parts) - 1)), mark)
            if alias is not None and found.columns and not alias.args.get("columns"):
                behind = self.end(int(alias.this.meta["start"]))
                yield _Edit(behind, behind, _column_list(found.columns))


def _is_common(node: exp.Table) -> bool:
    """Return whether a name without a schema refers to an item of a WITH around it: in the same WITH, to an item
    before it.
    """
    within: exp.Expr = node
    while (around := within.parent) is not None:
        if isinstance(around, exp.With):
            items = around.expressions
            before = next(n for n, item in enumerate(items) if item is within)
            known = items if around.args.get("recursive") else items[:before]
        else:
            with_ = around.args.get("with_")
            known = with_.expressions if with_ is not None and with_ is not within else []
        if any(item.alias == node.name for item in known):
            return True
        within = around
    return False


def _column_list(columns: Sequence[str]) -> str:
    return f"({', '.join(map(quote_ident, columns))})" if columns else ""


def _query_or_expression(reader: StatementReader) -> exp.Expression:
    ahead = 0
    while reader.peek(ahead).text == "(":
        ahead += 1
    if reader.word_at("select", "with", "values", "table", ahead=ahead):
        return reader.query()
    return reader.expression()


def _apply_edits(text: str, edits: Sequence[_Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text

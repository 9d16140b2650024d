"""Expressions that the catalog stores as text, defaults and checks: their references, and how they stay valid.

The text is stored as it was written, except for sequences, which it names by OID (`nextval('16385'::regclass)`), so
that renaming or moving one does not change the text; functions that show a text put the name back
(`engine.sql.deparse.stored_names`). Columns are stored by name: RENAME COLUMN rewrites them (`with_column_renamed`),
token by token, so that the rest of the text stays as it was.

Rejected: bound expressions in the catalog, as PostgreSQL has them (pg_node_tree). They would tie the catalog's format
to the binder's classes; binding a short text costs a tenth of a millisecond and is done once a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from sqlglot import exp

from engine.common.identifiers import quote_ident
from engine.sql.parser.lexical.lexer import Kind, tokenize
from engine.sql.parser.utility.reader import StatementReader

#: A replacement in a text: start, end, the new text.
_Edit = tuple[int, int, str]
_FUNCTIONS: Final = ("nextval", "currval", "setval")


def read_formula(text: str) -> exp.Expression:
    """Return the tree of a stored expression; its positions count from the beginning of `text`."""
    reader = StatementReader(text, tokenize(text))
    tree = reader.expression()
    if not reader.at_end():
        reader.fail()
    return tree


def columns_of(text: str) -> tuple[str, ...]:
    """Return the columns that a check reads, in order, each once."""
    found = [node.name for node in read_formula(text).find_all(exp.Column, bfs=False)]
    return tuple(dict.fromkeys(found))


def with_column_renamed(text: str, old: str, new: str) -> str:
    """Return the text with a column of its table renamed."""
    tree = read_formula(text)
    named = [node.this for node in tree.find_all(exp.Column) if node.name == old]
    starts = {identifier.meta["start"] for identifier in named}
    return _apply_edits(text, [(t.start, t.end, quote_ident(new)) for t in tokenize(text) if t.start in starts])


def with_value(text: str) -> str:
    """Return a domain's condition as PostgreSQL shows it: with VALUE in upper case."""
    starts = {node.this.meta["start"] for node in read_formula(text).find_all(exp.Column) if node.name == "value"}
    return _apply_edits(text, [(t.start, t.end, "VALUE") for t in tokenize(text) if t.start in starts])


def with_table_renamed(text: str, old: str, new: str) -> str:
    """Return the text with its table renamed, where a column is written `table.column`."""
    tables = [node.args["table"] for node in read_formula(text).find_all(exp.Column) if node.args.get("table")]
    starts = {identifier.meta["start"] for identifier in tables if identifier.name == old}
    return _apply_edits(text, [(t.start, t.end, quote_ident(new)) for t in tokenize(text) if t.start in starts])


# -- sequences -----------------------------------------------------------------------------------------------------


def nextval(sequence: int) -> str:
    """Return the default of a serial or identity column."""
    return f"nextval('{sequence}'::regclass)"


def sequence_of(default: str | None) -> int | None:
    """Return the OID of the sequence if a default is `nextval` of it and nothing else, or None."""
    if default is None or not default.startswith("nextval("):
        return None
    tree = read_formula(default)
    found = [literal.name for literal, _ in sequence_literals(tree)]
    whole = isinstance(tree, exp.Anonymous) and len(found) == 1 and found[0].isdecimal()
    return int(found[0]) if whole else None


def sequences_of(text: str | None) -> frozenset[int]:
    """Return the sequences, by OID, that a stored expression names."""
    if text is None or not _mentions_sequences(text):
        return frozenset()
    names = [literal.name for literal, _ in sequence_literals(read_formula(text))]
    return frozenset(int(name) for name in names if name.isdecimal())


def with_sequences_by_oid(text: str, find: Callable[[str], int]) -> str:
    """Return the text as it is stored. find: returns the OID of a sequence by its name as written; its errors are
    passed on.
    """
    edits = []
    for literal, cast in sequence_literals(read_formula(text)):
        oid = literal.name if literal.name.isdecimal() else str(find(literal.name))
        edits.append((literal.meta["start"], f"'{oid}'" if cast else f"'{oid}'::regclass"))
    return _at_tokens(text, edits)


def _mentions_sequences(text: str) -> bool:
    """Return whether the text may mention sequences; if not, it need not be parsed."""
    lowered = text.lower()
    return any(name in lowered for name in _FUNCTIONS)


def sequence_literals(tree: exp.Expression) -> Iterator[tuple[exp.Literal, bool]]:
    """Yield the constant arguments of nextval and its kin, each with whether it is cast."""
    for call in tree.find_all(exp.Anonymous):
        if str(call.this) not in _FUNCTIONS or not call.expressions:
            continue
        argument = call.expressions[0]
        inner = argument.this if isinstance(argument, exp.Cast) else argument
        if isinstance(inner, exp.Literal) and inner.is_string:
            yield inner, inner is not argument


def parenthesize(text: str) -> str:
    """Return an expression as PostgreSQL prints it by itself: in parentheses if it is an operator's."""
    tree = read_formula(text)
    if isinstance(tree, _PLAIN_FORMS) or (isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal)):
        return text
    return text if _is_in_parentheses(text) else f"({text})"


_PLAIN_FORMS: Final = (
    exp.Anonymous, exp.Array, exp.Boolean, exp.Bracket, exp.Case, exp.Cast, exp.Column, exp.Extract, exp.Literal, exp.Null,
    exp.Tuple,
)  # fmt: skip


def _is_in_parentheses(text: str) -> bool:
    """Return whether the text's first parenthesis is closed by its last character."""
    *tokens, _end = tokenize(text)
    depth = 0
    for n, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind is Kind.OPERATOR else 0
        if depth == 0:
            return n == len(tokens) - 1 and n > 0
    return False


def _at_tokens(text: str, edits: Sequence[tuple[int, str]]) -> str:
    ends = {token.start: token.end for token in tokenize(text)}
    return _apply_edits(text, [(start, ends[start], new) for start, new in edits])


def _apply_edits(text: str, edits: Sequence[_Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text

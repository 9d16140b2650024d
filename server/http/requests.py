"""Requests that are answered without the engine: prepared statements, USE, SET SESSION, SHOW.

In Trino's protocol the client keeps the state of its session: prepared statements, catalog, schema and settings travel
with every request in headers, and the headers of an answer change them. So PREPARE, USE and SET SESSION are answered
with a header only, and EXECUTE finds its statement in the request. The values of EXECUTE replace the placeholders in
the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote_plus

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from engine.catalog.model.objects import DATABASE
from engine.common.disposal import take_apart
from server.http import relations
from server.http.dialect import TRINO, read
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidCatalogName, InvalidSqlStatementName, SqlError, SqlSyntaxError

#: Trino's catalog of relations about the server, which is no database here.
SYSTEM: Final = "system"
_REWRITER: Final = relations.rewriter()


@dataclass(frozen=True, slots=True)
class Asked:
    """sql: the statement that the engine is to run, if any. kind: Trino's name for a statement that the door answers.
    headers: of the answer, without `X-Trino-`. settings: settings to apply, which checks their values; None is the
    default.
    """

    sql: str | None = None
    kind: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str | None], ...] = ()


def understand(text: str, prepared: Mapping[str, str]) -> Asked:
    """Classify a statement. prepared: the client's statements by name. Raises SqlError."""
    trees = [read(text)]
    try:
        return _understand(trees[0], text, prepared)
    finally:
        take_apart(trees)


def _understand(tree: exp.Expression, text: str, prepared: Mapping[str, str]) -> Asked:
    match tree:
        case exp.Command():
            return _command(tree, text, prepared)
        case exp.Use(this=exp.Table() as place):
            return _use(place)
        case exp.Set() if any(item.args.get("kind") == "SESSION" for item in tree.expressions):
            return _set_session(tree)
        case exp.Describe(this=exp.Table() as table):
            return Asked(_REWRITER.rewrite_tree(relations.describe(table)))
    return Asked(_REWRITER.rewrite_tree(tree))


def _command(tree: exp.Command, text: str, prepared: Mapping[str, str]) -> Asked:
    words = tree.text("expression").strip()
    match str(tree.this).upper():
        case "PREPARE":
            return _prepare(words)
        case "EXECUTE":
            return Asked(_REWRITER.rewrite_tree(_execute(words, prepared)))
        case "DEALLOCATE PREPARE" | "DEALLOCATE":
            return _deallocate(words)
        case "RESET SESSION":
            return _reset_session(words)
        case "EXPLAIN" if not words.startswith("("):
            return _explain(words)
        case "SHOW":
            shown = relations.show(words)
            return Asked(text if shown is None else _REWRITER.rewrite_tree(shown))
    return Asked(text)


def _explain(words: str) -> Asked:
    first, _, rest = words.partition(" ")
    analyze = "ANALYZE " if first.upper() == "ANALYZE" else ""
    inner = exp.Literal.string(analyze + _REWRITER.rewrite(rest if analyze else words))
    return Asked(exp.Command(this="EXPLAIN", expression=inner).sql("postgres"))


def _prepare(words: str) -> Asked:
    tokens = TRINO.tokenize(words)
    if len(tokens) < 3 or not _is_name(tokens[0]) or tokens[1].token_type is not TokenType.FROM:
        raise SqlSyntaxError("expected PREPARE name FROM statement")
    statement = words[tokens[1].end + 1 :].strip()
    read(statement)
    name = quote_plus(tokens[0].text)
    return Asked(kind="PREPARE", headers=(("Added-Prepare", f"{name}={quote_plus(statement)}"),))


def _deallocate(words: str) -> Asked:
    match TRINO.tokenize(words):
        case [name] if _is_name(name):
            return Asked(kind="DEALLOCATE", headers=(("Deallocated-Prepare", quote_plus(name.text)),))
    raise SqlSyntaxError("expected DEALLOCATE PREPARE name")


def _reset_session(words: str) -> Asked:
    tokens = TRINO.tokenize(words)
    names, dots = tokens[::2], tokens[1::2]
    if (
        len(names) != len(dots) + 1
        or not all(map(_is_name, names))
        or any(dot.token_type is not TokenType.DOT for dot in dots)
    ):
        raise SqlSyntaxError("expected RESET SESSION name")
    name = ".".join(token.text for token in names)
    return Asked(kind="RESET SESSION", headers=(("Clear-Session", name),), settings=((name, None),))


def _is_name(token: Token) -> bool:
    """Return whether the token is an identifier; a keyword may be one."""
    return token.token_type is TokenType.IDENTIFIER or (
        token.token_type is not TokenType.STRING and token.text.isidentifier()
    )


def _execute(words: str, prepared: Mapping[str, str]) -> exp.Expression:
    """Parse `name USING ...` or `IMMEDIATE 'statement' USING ...`. Returns the statement with its values."""
    tokens = TRINO.tokenize(words)
    match tokens:
        case [first, Token(token_type=TokenType.STRING) as immediate, *rest] if first.text.upper() == "IMMEDIATE":
            statement = immediate.text
        case [name, *rest]:
            if name.text not in prepared:
                raise InvalidSqlStatementName(f'prepared statement "{name.text}" does not exist')
            statement = prepared[name.text]
        case _:
            raise SqlSyntaxError("expected EXECUTE name or EXECUTE IMMEDIATE")
    return _with_values(read(statement), _values(words, rest))


def _values(words: str, tokens: Sequence[Token]) -> list[exp.Expression]:
    if not tokens:
        return []
    if tokens[0].token_type is not TokenType.USING:
        raise SqlSyntaxError(f'syntax error at or near "{tokens[0].text}"')
    row = read("SELECT " + words[tokens[0].end + 1 :])
    if not row.expressions or any(part for key, part in row.args.items() if key != "expressions"):
        raise SqlSyntaxError("expected a list of values behind USING")
    return list(row.expressions)


def _with_values(tree: exp.Expression, values: Sequence[exp.Expression]) -> exp.Expression:
    places = sorted(tree.find_all(exp.Placeholder), key=lambda node: int(node.name))
    if len(places) != len(values):
        raise SqlError(
            f"incorrect number of parameters: expected {len(places)} but found {len(values)}", sqlstate="07001"
        )
    for place, value in zip(places, values, strict=True):
        simple = isinstance(value, exp.Literal | exp.Null | exp.Boolean | exp.Cast)
        place.replace(value if simple else exp.paren(value))
    return tree


def _use(place: exp.Table) -> Asked:
    if place.catalog:
        raise SqlSyntaxError("expected USE schema or USE catalog.schema")
    if place.db:
        require_catalog(place.db)
    catalog = (("Set-Catalog", place.db),) if place.db else ()
    return Asked(kind="USE", headers=(*catalog, ("Set-Schema", place.name)))


def require_catalog(name: str) -> None:
    """Raise InvalidCatalogName for any name but that of the one catalog and of Trino's own."""
    if name not in (DATABASE, SYSTEM):
        raise InvalidCatalogName(f'catalog "{name}" does not exist', hint=f"This member's is {DATABASE}.")


def _set_session(tree: exp.Set) -> Asked:
    item = tree.expressions[0].this
    if len(tree.expressions) != 1 or not isinstance(item, exp.EQ):
        raise SqlSyntaxError("expected SET SESSION name = value")
    value = item.expression
    if not isinstance(value, exp.Literal | exp.Boolean):
        raise FeatureNotSupported("not supported: SET SESSION to an expression; give a string or a number")
    name = ".".join(part.name for part in item.this.parts)
    text = value.name if isinstance(value, exp.Literal) else str(value.this).lower()
    return Asked(kind="SET SESSION", headers=(("Set-Session", f"{name}={quote_plus(text)}"),), settings=((name, text),))

"""Names of output columns to which the query gives no name (parse_target.c: FigureColname)."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

#: The label of an expression that suggests no name.
UNNAMED: Final = "?column?"

# The strength of a name: one from a type or CASE is taken only if no operand gives a better one.
_NONE, _WEAK, _STRONG = range(3)
_FIXED: Final[dict[type[exp.Expression], str]] = {
    exp.Array: "array",
    exp.Exists: "exists",
    exp.Extract: "extract",
    exp.AtTimeZone: "timezone",
}


def label(node: exp.Expression) -> str:
    """Return the output column's name for a select list's item."""
    if isinstance(node, exp.Alias):
        return str(node.args["alias"].name)
    strength, name = _find_name(node)
    return name if strength else UNNAMED


def _find_name(node: exp.Expression) -> tuple[int, str]:
    match node:
        case exp.Column() if not isinstance(node.this, exp.Star):
            return _STRONG, node.name
        case exp.Dot() if isinstance(node.expression, exp.Identifier):
            return _STRONG, node.expression.name
        case exp.Bracket() | exp.Collate() | exp.Filter() | exp.WithinGroup() | exp.Window():
            return _find_name(node.this)
        case exp.Anonymous():
            return _STRONG, str(node.this)
        case exp.Cast():
            return _cast(node)
        case exp.Case():
            found = _find_name(node.args["default"]) if node.args.get("default") else (_NONE, "")
            return found if found[0] > _WEAK else (_WEAK, "case")
        case exp.Tuple():
            return (_STRONG, "row")
        case exp.Subquery():
            return _query(node.this)
        case _:
            name = _FIXED.get(type(node))
            return (_STRONG, name) if name is not None else (_NONE, "")


def _cast(node: exp.Cast) -> tuple[int, str]:
    found = _find_name(node.this)
    if found[0] > _WEAK:
        return found
    name = str(node.args["to"].args["kind"].name)
    return _WEAK, _float(node) if name == "float" else name


def _float(node: exp.Cast) -> str:
    modifiers = node.args["to"].expressions
    return "float4" if modifiers and int(modifiers[0].name) <= 24 else "float8"


def _query(query: exp.Expression) -> tuple[int, str]:
    """Return the name of a scalar subquery: that of its one column."""
    while isinstance(query, exp.SetOperation):
        query = query.this
    if isinstance(query, exp.Values):
        return _STRONG, "column1"
    first = query.expressions[0] if query.expressions else None
    if first is None or isinstance(first, exp.Star):
        return _NONE, ""
    return _STRONG, label(first)

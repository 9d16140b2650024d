"""Small pieces of sqlglot trees that every part of the compiler uses.

Generators print operators without parentheses: code that puts an expression below an operator uses `operand`, which
adds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

#: A complete query.
QueryTree = exp.Select | exp.Union | exp.Intersect | exp.Except

#: Nodes whose own syntax encloses their operands, which therefore need no parentheses.
ENCLOSING = (exp.Anonymous, exp.Cast, exp.Paren, exp.Case, exp.If, exp.Array, exp.Tuple, exp.Alias, exp.Distinct)


def is_atomic(tree: exp.Expression) -> bool:
    """Return whether the tree binds tighter than any operator, subscript or field access."""
    if isinstance(tree, (exp.Binary, exp.Unary, exp.Connector)):
        return isinstance(tree, (exp.Dot, exp.Paren))
    return isinstance(
        tree,
        (
            exp.Column,
            exp.Identifier,
            exp.Literal,
            exp.Null,
            exp.Boolean,
            exp.Func,
            exp.Cast,
            exp.Case,
            exp.Subquery,
            exp.Tuple,
            exp.Bracket,
            exp.Window,
            exp.Filter,
        ),
    )


def operand(tree: exp.Expression) -> exp.Expression:
    """Return `tree`, in parentheses unless it may stand beside any operator."""
    return tree if is_atomic(tree) else exp.Paren(this=tree)


def call(name: str, *args: exp.Expression) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(args))


def string(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def integer(value: int) -> exp.Expression:
    return exp.Neg(this=exp.Literal.number(-value)) if value < 0 else exp.Literal.number(value)


def cast(tree: exp.Expression, to: exp.DataType) -> exp.Expression:
    """Return CAST(tree AS to), without repeating a cast that is there already."""
    if isinstance(tree, exp.Cast) and not isinstance(tree, exp.TryCast) and tree.to == to:
        return tree
    return exp.Cast(this=tree, to=to)


def equals(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.EQ(this=operand(left), expression=operand(right))


def not_distinct(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.NullSafeEQ(this=operand(left), expression=operand(right))


def is_null(tree: exp.Expression) -> exp.Expression:
    return exp.Is(this=operand(tree), expression=exp.Null())


def negate(tree: exp.Expression) -> exp.Expression:
    return exp.Not(this=operand(tree))


def conjunction(args: Sequence[exp.Expression]) -> exp.Expression:
    """Return the conjunction of all arguments, TRUE for none."""
    return _connect(exp.And, args, exp.true())


def disjunction(args: Sequence[exp.Expression]) -> exp.Expression:
    """Return the disjunction of all arguments, FALSE for none."""
    return _connect(exp.Or, args, exp.false())


def _connect(
    connector: type[exp.And] | type[exp.Or], args: Sequence[exp.Expression], empty: exp.Expression
) -> exp.Expression:
    """Return a balanced tree, so that a thousand operands do not nest a thousand deep."""
    if not args:
        return empty
    if len(args) == 1:
        return args[0]
    middle = len(args) // 2
    left, right = (_connect(connector, half, empty) for half in (args[:middle], args[middle:]))
    return connector(this=_side(connector, left), expression=_side(connector, right))


def _side(connector: type[exp.And] | type[exp.Or], tree: exp.Expression) -> exp.Expression:
    """Return an operand of AND or OR: only the other connective needs parentheses, and a lambda's body never occurs
    here.
    """
    return tree if isinstance(tree, connector) or not isinstance(tree, exp.Connector) else exp.Paren(this=tree)


def case(whens: Iterable[tuple[exp.Expression, exp.Expression]], default: exp.Expression | None) -> exp.Expression:
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in whens], default=default)


def name(text: str) -> exp.Identifier:
    """Return a user's identifier: quoted, so that it is not folded."""
    return exp.to_identifier(text, quoted=True)


def label(text: str) -> exp.Identifier:
    """Return an identifier of ours: letters and digits only."""
    return exp.to_identifier(text, quoted=False)


def column(text: str, table: str) -> exp.Column:
    """Return a column that the compiler named."""
    return exp.Column(this=label(text), table=label(table))


def table_alias(text: str, columns: Sequence[str] = ()) -> exp.TableAlias:
    return exp.TableAlias(this=label(text), columns=[label(c) for c in columns])


def with_alias(tree: exp.Expression, text: str) -> exp.Expression:
    return exp.Alias(this=tree, alias=label(text))


def ordered_term(tree: exp.Expression, descending: bool, nulls_first: bool) -> exp.Ordered:
    return exp.Ordered(this=tree, desc=descending, nulls_first=nulls_first)

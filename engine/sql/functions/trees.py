"""Trees for templates that a snippet cannot express: pieces of SQL in one engine's dialect, composed with argument
trees.

A row's callable template (`engine.sql.functions`) builds its result from small snippets: `sql("local", "lower($1)", x)`
parses `lower($1)` once in DuckDB's dialect and inserts `x`. This module also reads constants back from argument trees
(a format or a pattern must be known to be translated), and builds errors that the engine raises with a computed
message.

Neighbours: `building` makes the rows and parses; `textual` renders values of any type as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.sql.functions.building import Templates, cheap, copy_if_placed, parse, place
from engine.sql.trees.parameters import ValueNeeded
from wire.errors import FeatureNotSupported

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Builder, Call

#: The local engine's number of the cursor whose interrupt ends a call (`engine.executors.local.cursor_work`).
CURSOR_NUMBER: Final = "getvariable('sluice_cursor')"
_LET: Final[dict[EngineName, str]] = {
    "local": "list_transform([$1], lambda {name}: {body})[1]",
    "spark": "transform(array($1), {name} -> {body})[0]",
}

#: Functions that may occur in a literal (`engine.sql.trees.literals`).
_MAKERS: Final = {
    "UNHEX",
    "NAMED_STRUCT",
    "STRUCT_PACK",
    "ARRAY",
    "MAKE_TIMESTAMP",
    "MAKE_TIMESTAMPTZ",
    "TIMESTAMP_MICROS",
}

#: A template that serves both engines: it takes the engine, the arguments' trees and the bound call, and returns a
#: tree.
EngineBuilder = Callable[[EngineName, Sequence[exp.Expression], "Call | AggregateCall"], exp.Expression]


def sql(engine: EngineName, snippet: str, *args: exp.Expression) -> exp.Expression:
    """Return a snippet of the engine's SQL with its `$1`, `$2` ... replaced by `args`."""
    return place(parse(engine, snippet), args)


def text(value: str) -> exp.Expression:
    """Return a string literal; the dialect's generator escapes it."""
    return exp.Literal.string(value)


def integer(value: int) -> exp.Expression:
    return exp.Neg(this=exp.Literal.number(-value)) if value < 0 else exp.Literal.number(value)


def _bare(tree: exp.Expression) -> exp.Expression:
    while isinstance(tree, exp.Cast | exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Placeholder):
        raise ValueNeeded(tree.name)
    return tree


def is_null(tree: exp.Expression) -> bool:
    """Return whether the tree is the constant NULL, cast or not."""
    return isinstance(_bare(tree), exp.Null)


def constant_text(tree: exp.Expression) -> str | None:
    """Return the text of a string constant, or None."""
    bare = _bare(tree)
    return str(bare.this) if isinstance(bare, exp.Literal) and bare.is_string else None


def constant_int(tree: exp.Expression) -> int | None:
    """Return the value of an integer constant, or None."""
    bare = _bare(tree)
    if isinstance(bare, exp.Neg):
        value = constant_int(bare.this)
        return None if value is None else -value
    if isinstance(bare, exp.Literal) and not bare.is_string and str(bare.this).lstrip("-").isdecimal():
        return int(bare.this)
    return None


def is_constant(tree: exp.Expression) -> bool:
    """Return whether a tree is a literal of any type: it needs no rows, and costs nothing if it is repeated."""
    if tree.find(exp.Column, exp.Subquery, exp.Select) is not None:
        return False
    calls = tree.find_all(exp.Func)
    return all(
        isinstance(c, exp.Array | exp.Cast) or (isinstance(c, exp.Anonymous) and c.name.upper() in _MAKERS)
        for c in calls
    )


def _repeatable(tree: exp.Expression) -> bool:
    return cheap(tree) or is_constant(tree)


def required_text(tree: exp.Expression, what: str) -> str:
    """Return the text of a constant argument. Raises FeatureNotSupported if it is computed from rows."""
    value = constant_text(tree)
    if value is None:
        raise FeatureNotSupported(f"not supported: {what} that is not a constant")
    return value


def raises(engine: EngineName, sqlstate: str, message: str | exp.Expression) -> exp.Expression:
    """Return an expression that raises this error when it is evaluated; `message` may be computed."""
    prefix = text(f"SQLSTATE:{sqlstate}:{message if isinstance(message, str) else ''}")
    said = prefix if isinstance(message, str) else concat(engine, [prefix, message])
    return fail_with(engine, said)


def fail_with(engine: EngineName, said: exp.Expression) -> exp.Expression:
    """Return an expression that raises the error that a text encodes (`engine.common.error_codec`)."""
    return sql(engine, "error($1)" if engine == "local" else "raise_error($1)", said)


def concat(engine: EngineName, pieces: Sequence[exp.Expression]) -> exp.Expression:
    """Return the concatenation of the texts; null if any is null."""
    if not pieces:
        return text("")
    if len(pieces) == 1:
        return pieces[0]
    glue = " || " if engine == "local" else ", "
    listed = glue.join(f"${n}" for n in range(1, len(pieces) + 1))
    return sql(engine, f"({listed})" if engine == "local" else f"concat({listed})", *pieces)


def pack(engine: EngineName, fields: Mapping[str, exp.Expression]) -> exp.Expression:
    """Return a struct of named fields."""
    listed = (f"{f} := ${n}" if engine == "local" else f"'{f}', ${n}" for n, f in enumerate(fields, 1))
    maker = "struct_pack" if engine == "local" else "named_struct"
    return sql(engine, "{}({})".format(maker, ", ".join(listed)), *fields.values())


def bound(
    engine: EngineName, name: str, value: exp.Expression, body: Callable[[exp.Expression], exp.Expression]
) -> exp.Expression:
    """Return `body` over a name that stands for `value`, which is computed once; over `value` itself if it may be
    repeated.

    `name` must differ from those of the lets around this one.
    """
    if _repeatable(value):
        return body(value)
    return sql(engine, _LET[engine].format(name=name, body="$2"), value, body(exp.column(name)))


def on(engine: EngineName, build: EngineBuilder) -> Builder:
    """Return a template for one engine from a builder that serves both.

    An argument that is more than a column or a constant and that the builder uses more than once, or inside a lambda,
    is computed once: the body becomes a transformation of a one-element array, as in `building.let`.
    """

    def template(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        name, values, marked = _mark(args)
        body = build(engine, marked, call)
        if not values:
            return body
        return _bind(engine, name, values, body) if _is_repeated(body, name) else _put(body, name, values)

    return template


def compute_once(
    engine: EngineName, args: Sequence[exp.Expression], body: Callable[[Sequence[exp.Expression]], exp.Expression]
) -> exp.Expression:
    """Return `body` over the arguments, each of which is computed once: for an engine that repeats what the body does
    not.
    """
    name, values, marked = _mark(args)
    return _bind(engine, name, values, body(marked)) if values else body(marked)


def both(build: EngineBuilder) -> Templates:
    """Return the templates of a row that one builder serves in both engines."""
    return {"local": on("local", build), "spark": on("spark", build)}


def _mark(args: Sequence[exp.Expression]) -> tuple[str, dict[str, exp.Expression], list[exp.Expression]]:
    """Return a name, the arguments that are more than a column or a constant as fields under that name, and all
    arguments with references in the place of those.
    """
    name = _unused_name(args)
    values = {f"a{n}": arg for n, arg in enumerate(args) if not _repeatable(arg)}
    marked = [exp.column(f"a{n}", table=name) if f"a{n}" in values else arg for n, arg in enumerate(args)]
    return name, values, marked


def _is_repeated(body: exp.Expression, name: str) -> bool:
    uses = [column for column in body.find_all(exp.Column) if column.table == name]
    return len({column.name for column in uses}) < len(uses) or any(c.find_ancestor(exp.Lambda) for c in uses)


def _unused_name(args: Sequence[exp.Expression]) -> str:
    taken = {column.table for arg in args for column in arg.find_all(exp.Column)}
    return next(name for name in (f"given{n}__" for n in range(len(taken) + 1)) if name not in taken)


def _bind(engine: EngineName, name: str, fields: dict[str, exp.Expression], body: exp.Expression) -> exp.Expression:
    packed = pack(engine, fields)
    return sql(engine, _LET[engine].format(name=name, body="$2"), packed, body)


def _put(body: exp.Expression, name: str, values: dict[str, exp.Expression]) -> exp.Expression:
    def put(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and node.table == name:
            return exp.Paren(this=copy_if_placed(values[node.name]))
        return node

    return body.transform(put, copy=False)

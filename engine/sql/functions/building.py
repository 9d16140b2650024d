"""Constructors of the function table's rows, and the small pieces of SQL that its templates share.

`fn`, `op`, `agg`, `ordered_set`, `window` and `cast` make a `Function` from positional signature and templates. One
text serves both engines unless `local` or `spark` says otherwise (`NOTHING`: the engine lacks it). A scalar template's
text is changed in two ways before it becomes a row's template:

- `RAISE('22012', 'division by zero')` becomes the engine's own way to fail with that SQLSTATE and message;
- where a placeholder occurs more than once and its argument is more than a column or a constant, the argument is bound
  once (`let`), so that nested calls do not multiply the statement's size and a volatile argument is evaluated once.

Neighbours: `trees` composes trees where a text is not sufficient; the row modules (`numeric`, `math` ...) use both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack
from typing import cast as typed

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, CastContext, Function, FunctionKind, Template, TypeRule, ValueRule, Volatility
from engine.sql.trees.copies import copy_tree
from engine.sql.trees.engine_dialects import DIALECTS
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call


_PLACEHOLDER: Final = re.compile(r"\$(\d+)")
_MARK: Final = "argument__"
_LET: Final[dict[EngineName, str]] = {
    "local": "list_transform([struct_pack({fields})], lambda {name}: {body})[1]",
    "spark": "transform(array(named_struct({fields})), {name} -> {body})[0]",
}
_FIELD: Final[dict[EngineName, str]] = {"local": "{name} := {value}", "spark": "'{name}', {value}"}
#: Nodes of an argument that is cheap enough to be repeated.
_CHEAP: Final = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Placeholder,
    exp.Cast,
    exp.DataType,
    exp.DataTypeParam,
    exp.Null,
    exp.Boolean,
    exp.Paren,
    exp.Neg,
)
#: Nodes that bind tighter than any operator.
_ATOMS: Final = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Anonymous, exp.Cast, exp.Subquery)

#: The template of an engine that lacks the function.
NOTHING: Final = ""


def parse(engine: EngineName, text: str) -> exp.Expression:
    """Parse a snippet in the engine's dialect: function calls verbatim, `$n` as a column `argument__n`. The result is
    cached and must not be changed.
    """
    return _parse_snippet(engine, _with_engine_errors(engine, _PLACEHOLDER.sub(rf"{_MARK}\1", text)))


@cache
def _parse_snippet(engine: EngineName, text: str) -> exp.Expression:
    tree = DIALECTS[engine]().parse(text)[0]
    assert isinstance(tree, exp.Expression)
    for node in tree.walk():
        # Drop the tokens' positions in the snippet: nothing uses them, and copying them is most of the cost of copying
        # a tree.
        node._meta = None
    return tree


def _with_engine_errors(engine: EngineName, text: str) -> str:
    function = "error" if engine == "local" else "raise_error"
    return re.sub(r"RAISE\('(\w{5})', '", rf"{function}('SQLSTATE:\1:", text)


def copy_if_placed(argument: exp.Expression) -> exp.Expression:
    """Return an argument itself if it has no parent yet, else a copy. Copying at each level of a deep expression would
    be most of the cost of compiling it.
    """
    return argument if argument.parent is None else copy_tree(argument)


def place(tree: exp.Expression, args: Sequence[exp.Expression]) -> exp.Expression:
    """Return a copy of a parsed snippet with its placeholders replaced by the arguments, as `copy_if_placed` returns
    them.
    """
    placed = copy_tree(tree)
    for mark in [c for c in placed.find_all(exp.Column) if c.name.startswith(_MARK)]:
        argument = copy_if_placed(args[int(mark.name[len(_MARK) :]) - 1])
        whole = argument if isinstance(argument, _ATOMS) else exp.Paren(this=argument)
        if mark is placed:
            return whole
        mark.replace(whole)
        # The replaced column is free then, rather than a cycle with its identifier.
        mark.this.parent = None
    return placed


def cheap(tree: exp.Expression) -> bool:
    """Return whether a tree may be repeated: it is a column or a constant, possibly cast."""
    return all(isinstance(node, _CHEAP) for node in tree.walk())


def let(engine: EngineName, name: str, fields: dict[str, str], body: str) -> str:
    """Return the text of `body`, in which `name.field` stands for a value that is computed once.

    Both engines express it as a transformation of a one-element array, which costs them a microsecond or less. Lets
    nest in `body`, with another `name`.
    """
    listed = ", ".join(_FIELD[engine].format(name=field, value=value) for field, value in fields.items())
    return _LET[engine].format(fields=listed, name=name, body=body)


def snippet(engine: EngineName, text: str) -> Builder:
    """Make a template of a text, by the rules in the module's docstring."""
    used = Counter(int(n) for n in _PLACEHOLDER.findall(text))

    def build(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        dear = [n for n in used if not cheap(args[n - 1])]
        # Bind all of them or none: arguments that are not bound end up in the lambda's body, where an aggregate or a
        # subquery is not allowed.
        bind = any(used[n] > 1 for n in dear)
        return place(parse(engine, _bind(engine, text, dear) if bind else text), args)

    return build


def _bind(engine: EngineName, text: str, bound: Sequence[int]) -> str:
    body = _PLACEHOLDER.sub(lambda m: f"bound__.a{m[1]}" if int(m[1]) in bound else m[0], text)
    return let(engine, "bound__", {f"a{n}": f"${n}" for n in bound}, body)


def _scalar(engine: EngineName, template: Template | None) -> Template | None:
    if not template:
        return None
    if not isinstance(template, str):
        return template
    used = Counter(_PLACEHOLDER.findall(template))
    if "RAISE(" in template or any(count > 1 for count in used.values()):
        return snippet(engine, template)
    return template


class Options(TypedDict, total=False):
    """The fields of a row beside its signature and templates; see `Function`."""

    rule: TypeRule | None
    by_value: ValueRule | None
    variadic: bool
    strict: bool
    volatility: Volatility
    returns_set: bool
    column: str
    context: CastContext
    optional: int
    names: tuple[str, ...]
    defaults: tuple[Any, ...]


class Templates(TypedDict, total=False):
    """The templates of single engines, where they differ from the common one."""

    local: Template
    spark: Template


class Said(Options, Templates, total=False):
    """Every keyword argument of a row's constructor."""


def _row(
    kind: FunctionKind, name: str, signature: tuple[Sequence[t.PgType], t.PgType], both: Template, said: Said
) -> Function:
    local: Template | None = said.pop("local", both)
    spark: Template | None = said.pop("spark", both)
    if kind in ("function", "operator", "cast"):
        local, spark = _scalar("local", local), _scalar("spark", spark)
    else:
        said.setdefault("strict", False)
    args, returns = signature
    options = typed("Options", said)
    return Function(name, kind, tuple(args), returns, local or None, spark or None, **options)


def fn(
    name: str, args: Sequence[t.PgType], returns: t.PgType, both: Template = NOTHING, **said: Unpack[Said]
) -> Function:
    """Return a function. `both` is the template of either engine that has none of its own (`local=`, `spark=`)."""
    return _row("function", name, (args, returns), both, said)


def op(
    name: str, args: Sequence[t.PgType], returns: t.PgType, both: Template = NOTHING, **said: Unpack[Said]
) -> Function:
    """Return an operator: prefix with one argument, infix with two."""
    return _row("operator", name, (args, returns), both, said)


def cast(source: t.PgType, target: t.PgType, both: Template = NOTHING, **said: Unpack[Said]) -> Function:
    """Return a cast. A callable template finds the target's modifier and digits on the call's `type`."""
    return _row("cast", "cast", ((source,), target), both, said)


def agg(
    name: str, args: Sequence[t.PgType], returns: t.PgType, both: Template = NOTHING, **said: Unpack[Said]
) -> Function:
    """Return an aggregate."""
    return _row("aggregate", name, (args, returns), both, said)


def ordered_set(
    name: str, args: Sequence[t.PgType], returns: t.PgType, both: Template = NOTHING, **said: Unpack[Said]
) -> Function:
    """Return an ordered-set aggregate: `args` are the direct arguments, then those of WITHIN GROUP."""
    return _row("ordered_set", name, (args, returns), both, said)


def window(
    name: str, args: Sequence[t.PgType], returns: t.PgType, both: Template = NOTHING, **said: Unpack[Said]
) -> Function:
    """Return a window function."""
    return _row("window", name, (args, returns), both, said)

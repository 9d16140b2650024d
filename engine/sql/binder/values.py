"""Expressions that construct values or extract parts of them: literals, parameters, columns, arrays, rows, casts, CASE
and its kin.

These are handlers of `engine.sql.binder.expressions`.

Source: PostgreSQL 15, parse_expr.c (transformColumnRef, transformIndirection, transformArrayExpr, transformRowExpr,
transformTypeCast, transformCaseExpr, transformCoalesceExpr, transformMinMaxExpr).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import MAX_DIMENSIONS, SqlType, array_type, element_type
from engine.plan_ir.expr import ArrayOf, Call, Case, Coalesce, Const, Expr, ParamRef, Row, with_type
from engine.plan_ir.volatility import is_volatile
from engine.sql.binder import domains, literals, object_names
from engine.sql.binder.blocks import row_items
from engine.sql.binder.casts import can_coerce
from engine.sql.binder.coercion import common
from engine.sql.binder.scope import Scope, Source
from engine.sql.binder.type_names import COLLATABLE, domain_named, resolve_type
from engine.sql.binder.volatile_case import volatile_case
from engine.sql.functions.vectors import VECTORS
from engine.sql.parser.lexical.positions import cursor, position
from wire.common.digits import parse_digits
from wire.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    IndeterminateDatatype,
    ProgramLimitExceeded,
    SqlSyntaxError,
    TooManyColumns,
    UndefinedColumn,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.expressions import ExpressionBinder, Handler

#: MaxTupleAttributeNumber of PostgreSQL.
_MAX_FIELDS: Final = 1664
_COLLATIONS: Final = frozenset({"C", "POSIX", "default", "ucs_basic"})


# -- literals and parameters -----------------------------------------------------------------------------------------


def bind_literal(_binder: ExpressionBinder, node: exp.Expression, _scope: Scope) -> Expr:
    assert isinstance(node, exp.Literal)
    at = position(node)
    return literals.unknown_literal(node.this, at) if node.is_string else literals.number(node.this, at)


def bind_boolean(_binder: ExpressionBinder, node: exp.Expression, _scope: Scope) -> Expr:
    return literals.boolean(bool(node.this), position(node))


def bind_null(_binder: ExpressionBinder, node: exp.Expression, _scope: Scope) -> Expr:
    return literals.unknown_literal(None, position(node))


def bind_parameter(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    index, at = parse_digits(node.name), position(node)
    known = scope.parameters.type_of(index, at)
    param = ParamRef(known or st.of(t.UNKNOWN), index, position=at)
    domain = scope.parameters.domain_of(index)
    return param if domain is None else domains.check_domain(binder, param, domain, scope.queries)


def bind_default(_binder: ExpressionBinder, node: exp.Expression, _scope: Scope) -> Expr:
    """Refuse DEFAULT where no column is assigned."""
    raise SqlSyntaxError("DEFAULT is not allowed in this context", position=cursor(position(node)))


# -- names -----------------------------------------------------------------------------------------------------------


def bind_column(_binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    assert isinstance(node, exp.Column)
    if not isinstance(node.this, exp.Star):
        return scope.resolve_column([p for p in node.parts if isinstance(p, exp.Identifier)])
    source = _whole(node, scope)
    row = source.whole_row()
    scope.context.accesses.note(row)
    return replace(row, position=position(node))


def _whole(node: exp.Column, scope: Scope) -> Source:
    """Return the FROM item whose whole row is referred to."""
    names = [p for p in node.parts if isinstance(p, exp.Identifier)]
    source = scope.find_source(names)
    if source is None:
        name = names[-1].name
        raise UndefinedTable(f'missing FROM-clause entry for table "{name}"', position=cursor(position(node)))
    return source


def bind_field(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind (record).field."""
    arg = binder.bind(node.this, scope)
    if isinstance(node.expression, exp.Star):
        raise FeatureNotSupported("not supported: row expansion with * here", position=cursor(position(node)))
    name, at = node.expression.name, cursor(arg.position)
    if not arg.type.pg.is_row:
        message = f"column notation .{name} applied to type {arg.type.pg.sql_name}, which is not a composite type"
        raise WrongObjectType(message, position=at)
    for index, (field, _typ) in enumerate(arg.type.fields):
        if field == name:
            return row_items(arg)[index]
    if arg.type.pg is not t.RECORD:
        raise UndefinedColumn(f'column "{name}" not found in data type {arg.type.pg.sql_name}', position=at)
    raise UndefinedColumn(f'could not identify column "{name}" in record data type', position=at)


# -- arrays and rows -------------------------------------------------------------------------------------------------


def bind_array(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    if node.meta.get("subquery"):
        return binder.bind_array_query(node.expressions[0], scope, position(node))
    return _array(binder, node, scope, None)


def _array(binder: ExpressionBinder, node: exp.Expression, scope: Scope, target: SqlType | None) -> Expr:
    """Bind ARRAY[...]. An explicit cast around it is applied to each element."""
    at = position(node)
    if any(isinstance(item, exp.Array) and not item.meta.get("subquery") for item in node.expressions):
        return _nested_array(binder, node, scope, target)
    items = binder.bind_all(node.expressions, scope)
    if target is not None:
        element = element_type(target)
        return make_array(element, [binder.coerce(i, element, "explicit", at) for i in items], at)
    if not items:
        raise IndeterminateDatatype(
            "cannot determine type of empty array",
            hint="Explicitly cast to the desired type, for example ARRAY[]::integer[].",
            position=cursor(at),
        )
    element, items = binder.unify(items, "ARRAY")
    return make_array(element, items, at)


def _nested_array(binder: ExpressionBinder, node: exp.Expression, scope: Scope, target: SqlType | None) -> Expr:
    """Bind an array of arrays. If their lengths differ, its evaluation fails (2202E)."""
    at = position(node)
    rows = [
        _array(binder, item, scope, target) if isinstance(item, exp.Array) else binder.bind(item, scope)
        for item in node.expressions
    ]
    typ, rows = binder.unify(rows, "ARRAY")
    return _array_of_arrays(typ, rows, at)


def _array_of_arrays(typ: SqlType, rows: Sequence[Expr], at: int) -> Expr:
    """Return an array of arrays of one type; a constant if they are all constants, an empty one if they have no
    elements.
    """
    made = array_type(typ)
    if made.dimensions > MAX_DIMENSIONS:
        raise ProgramLimitExceeded(
            f"number of array dimensions ({made.dimensions}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
        )
    listed = [row.value or [] for row in rows if isinstance(row, Const)]
    # Arrays of different lengths are an error only if the expression is evaluated.
    if len(listed) < len(rows) or len({_lengths(value) for value in listed}) > 1:
        return ArrayOf(made, tuple(rows), position=at)
    return Const(made, listed, position=at) if any(listed) else Const(typ, [], position=at)


def make_array(element: SqlType, items: Sequence[Expr], at: int) -> Expr:
    """Return an array of expressions of one type; a constant if they are all constants."""
    if items:
        element = common(items, passed_on=True)
    if element.pg.is_array:
        return _array_of_arrays(element, items, at)
    if all(isinstance(i, Const) for i in items):
        return Const(array_type(element), [i.value for i in items if isinstance(i, Const)], position=at)
    return ArrayOf(array_type(element), tuple(items), position=at)


def _lengths(value: Any) -> tuple[int, ...]:
    """Return the length of an array along each of its dimensions."""
    if not isinstance(value, list):
        return ()
    return (len(value), *(_lengths(value[0]) if value else ()))


def bind_subscript(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind array[i] and array[i:j]; jsonb[key]; name[i], a byte."""
    base, brackets = node, [node]
    while isinstance(base.this, exp.Bracket) and not base.this.meta.get("paren"):
        base = base.this
        brackets.append(base)
    brackets.reverse()
    arg = binder.bind(base.this, scope)
    if arg.type.pg.is_array:
        return _subscripts(binder, arg, [b.expressions[0] for b in brackets], scope, position(node))
    for bracket in brackets:
        arg = _part(binder, arg, bracket.expressions[0], scope, position(bracket))
    return arg


def _part(binder: ExpressionBinder, arg: Expr, index: exp.Expression, scope: Scope, at: int) -> Expr:
    """Bind a subscript of a value that is no array."""
    if arg.type.pg is t.JSONB and not isinstance(index, exp.Slice):
        return binder.operator("#>", [arg, _step(binder, index, scope)], at)
    if arg.type.pg is t.JSONB:
        bound = index.args.get("expression") or index.args.get("this")
        message = "jsonb subscript does not support slices"
        raise DatatypeMismatch(message, position=cursor(position(bound) if bound is not None else at))
    if arg.type.pg is t.NAME and not isinstance(index, exp.Slice):
        return binder.function("subscript", [arg, bind_index(binder, index, scope)], at)
    if arg.type.pg is t.NAME:
        raise FeatureNotSupported("slices of fixed-length arrays not implemented")
    message = f"cannot subscript type {arg.type.pg.sql_name} because it does not support subscripting"
    raise DatatypeMismatch(message, position=cursor(arg.position))


def _subscripts(
    binder: ExpressionBinder, arg: Expr, subscripts: Sequence[exp.Expression], scope: Scope, at: int
) -> Expr:
    """Bind array[i][j] and array[i:j][k:l]. As many subscripts as the array has dimensions select an element; with
    fewer or more the result is null. In slices, a plain index is a slice from 1, and a dimension without a subscript is
    taken whole.
    """
    typ = arg.type
    if typ.dimensions == len(subscripts) == 1:
        (index,) = subscripts
        if isinstance(index, exp.Slice):
            return _slice(binder, arg, index, scope, at)
        element = binder.function("subscript", [arg, bind_index(binder, index, scope)], at)
        return with_type(element, element_type(typ))
    if len(subscripts) > MAX_DIMENSIONS:
        raise ProgramLimitExceeded(
            f"number of array dimensions ({len(subscripts)}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
        )
    if not any(isinstance(index, exp.Slice) for index in subscripts):
        places = [bind_index(binder, index, scope) for index in subscripts]
        if len(places) != typ.dimensions:
            return literals.null(element_type(typ), at)
        return with_type(binder.function("subscripts", [arg, *places], at), element_type(typ))
    bounds: list[Expr] = []
    for index in subscripts:
        low, high = (
            (index.args.get("this"), index.args.get("expression")) if isinstance(index, exp.Slice) else (None, index)
        )
        bounds += (
            bind_index(binder, low, scope) if low is not None else literals.int4(1),
            bind_index(binder, high, scope) if high is not None else literals.int4((1 << 31) - 1),
        )
    kept = replace(typ, typmod=-1)
    if len(subscripts) > typ.dimensions:
        bounds = [literals.int4(1), literals.int4(0)] * typ.dimensions
    bounds += (literals.int4(1), literals.int4((1 << 31) - 1)) * (typ.dimensions - len(subscripts))
    return with_type(binder.function("slices", [arg, *bounds], at), kept)


def _step(binder: ExpressionBinder, index: exp.Expression, scope: Scope) -> Expr:
    """Return a subscript of jsonb as a path of one step: '1' is an index in an array, and a scalar has no elements
    (jsonbsubs.c).
    """
    bound, texts = binder.bind(index, scope), st.of(t.array_of(t.TEXT))
    if bound.type.pg not in (t.INT2, t.INT4, t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.UNKNOWN):
        raise DatatypeMismatch(
            f"subscript type {bound.type.pg.sql_name} is not supported",
            hint="jsonb subscript must be coercible to either integer or text.",
            position=cursor(bound.position),
        )
    if isinstance(bound, Const):
        return Const(texts, [None if bound.value is None else str(bound.value)])
    return ArrayOf(texts, (binder.coercer.coerce_type(bound, t.TEXT, "explicit"),))


def _slice(binder: ExpressionBinder, arg: Expr, index: exp.Slice, scope: Scope, at: int) -> Expr:
    bounds = [
        bind_index(binder, bound, scope) if bound is not None else literals.null(st.of(t.INT4))
        for bound in (index.args.get("this"), index.args.get("expression"))
    ]
    if index.args.get("this") is None:
        bounds[0] = literals.int4(0 if arg.type.pg in VECTORS else 1)
    if index.args.get("expression") is None:
        bounds[1] = literals.int4((1 << 31) - 1)
    # A slice of a vector is an array (transformContainerType).
    pg = t.array_of(t.element_of(arg.type.pg)) if arg.type.pg in VECTORS else arg.type.pg
    return with_type(binder.function("slice", [arg, *bounds], at), replace(arg.type, pg=pg, typmod=-1))


def bind_index(binder: ExpressionBinder, index: exp.Expression, scope: Scope) -> Expr:
    """Bind a subscript of an array."""
    bound = binder.bind(index, scope)
    if bound.type.pg not in (t.INT2, t.INT4, t.INT8, t.UNKNOWN, t.NUMERIC, t.FLOAT4, t.FLOAT8):
        raise DatatypeMismatch("array subscript must have type integer", position=cursor(bound.position))
    return binder.coercer.coerce_type(bound, t.INT4, "assignment")


def bind_row(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    return make_row(bind_row_items(binder, node, scope), position(node))


def make_row(items: Sequence[Expr], at: int) -> Row:
    fields = tuple((f"f{i}", item.type) for i, item in enumerate(items, 1))
    return Row(SqlType(t.RECORD, fields=fields), tuple(items), position=at)


def bind_row_items(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> list[Expr]:
    """Bind the entries of a row constructor and expand `t.*`; types may be unknown."""
    items: list[Expr] = []
    for item in node.expressions:
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            row = _whole(item, scope).row()
            scope.context.accesses.note(row)
            items.extend(row_items(row))
        else:
            items.append(binder.bind(item, scope))
    if len(items) > _MAX_FIELDS:
        raise TooManyColumns(f"ROW expressions can have at most {_MAX_FIELDS} entries", position=cursor(position(node)))
    return items


# -- casts -----------------------------------------------------------------------------------------------------------


def bind_cast(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    assert isinstance(node, exp.Cast)
    # The number of dimensions that a cast names has no meaning.
    target = replace(resolve_type(node.to, binder.context.notice, binder.context.user_type), dimensions=1)
    if target.pg.is_array and isinstance(node.this, exp.Array) and not node.this.meta.get("subquery"):
        arg = _array(binder, node.this, scope, replace(target, typmod=-1))
    else:
        arg = binder.bind(node.this, scope)
    if "argument" in node.meta:
        _require_assignable(arg, target.pg, node.meta["argument"])
    domain = domain_named(node.to, binder.context.user_type)
    if domain is not None:
        domains.tell(binder, arg, domain)
    if target.pg.category == "S":
        arg = object_names.with_object_names(binder, arg, scope)
    if target.pg in t.REG_TYPES and arg.type.pg.category == "S" and arg.type.pg is not t.UNKNOWN:
        return object_names.object_of(binder, arg, target.pg, scope)
    value = binder.coerce(arg, target, "explicit", position(node))
    return value if domain is None else domains.check_domain(binder, value, domain, scope.queries)


def _require_assignable(arg: Expr, wanted: t.PgType, number: int) -> None:
    """Check that an argument of EXECUTE can be assigned to its parameter; it is not cast to its type (prepare.c:
    EvaluateParams).
    """
    if not can_coerce(arg.type.pg, wanted, "assignment"):
        raise DatatypeMismatch(
            f"parameter ${number} of type {arg.type.pg.sql_name} cannot be coerced to the expected type {wanted.sql_name}",
            hint="You will need to rewrite or cast the expression.",
            position=cursor(arg.position),
        )


def bind_collate(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind COLLATE: text compares in the C collation, which is the only one."""
    name, at = node.expression.name, position(node)
    arg = binder.bind(node.this, scope)
    if arg.type.pg not in COLLATABLE and arg.type.pg is not t.UNKNOWN:
        raise DatatypeMismatch(f"collations are not supported by type {arg.type.pg.sql_name}", position=cursor(at))
    if name not in _COLLATIONS:
        raise FeatureNotSupported(f'not supported: collation "{name}"', position=cursor(at))
    return binder.settle(arg)


# -- CASE and its kin ------------------------------------------------------------------------------------------------


def bind_case(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    at = position(node)
    subject = binder.settle(binder.bind(node.this, scope)) if node.args.get("this") is not None else None
    conditions, results = [], []
    for branch in node.args["ifs"]:
        conditions.append(_when(binder, subject, branch, scope))
        results.append(binder.bind(branch.args["true"], scope))
    default = node.args.get("default")
    # The default comes first in PostgreSQL's search for the common type; a missing one counts as a null.
    last = binder.bind(default, scope) if default is not None else literals.unknown_literal(None, at)
    pg = binder.coercer.common_type([last, *results], "CASE")
    last = binder.coercer.to_common(last, pg, "CASE/ELSE")
    results = [binder.coercer.to_common(r, pg, "CASE/WHEN") for r in results]
    typ, (last, *results) = binder.unify([last, *results], "CASE")
    if subject is not None and is_volatile(subject):
        return volatile_case(typ, conditions, results, last, at)
    whens = tuple(zip(conditions, results, strict=True))
    return Case(typ, whens, last if default is not None else None, position=at)


def _when(binder: ExpressionBinder, subject: Expr | None, branch: exp.Expression, scope: Scope) -> Expr:
    condition = binder.bind(branch.this, scope)
    if subject is not None:
        condition = binder.operator("=", [subject, condition], position(branch))
    return binder.as_boolean(condition, "CASE/WHEN")


def bind_coalesce(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    typ, args = binder.unify(binder.bind_all(node.expressions, scope), "COALESCE")
    return Coalesce(typ, tuple(args), position=position(node))


def bind_nullif(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind NULLIF(a, b): null if a = b, else a as the operator received it."""
    args, at = binder.bind_all(node.expressions, scope), position(node)
    equal = binder.operator("=", args, at)
    left = equal.args[0]
    if is_volatile(left):
        return volatile_case(left.type, [equal], [literals.null(left.type)], None, at)
    return Case(left.type, ((equal, literals.null(left.type)),), left, position=at)


def bind_greatest(binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    """Bind GREATEST and LEAST."""
    name, at = str(node.this), position(node)
    typ, args = binder.unify(binder.bind_all(node.expressions, scope), name.upper())
    binder.require_comparison(typ.pg)
    call = binder.function(name, args, at)
    return Call(typ, call.function, call.args, position=at) if isinstance(call, Call) else call


HANDLERS: Final[Mapping[type[exp.Expression], Handler]] = {
    exp.Literal: bind_literal,
    exp.Boolean: bind_boolean,
    exp.Null: bind_null,
    exp.Var: bind_default,
    exp.Parameter: bind_parameter,
    exp.Column: bind_column,
    exp.Dot: bind_field,
    exp.Array: bind_array,
    exp.Bracket: bind_subscript,
    exp.Tuple: bind_row,
    exp.Cast: bind_cast,
    exp.Collate: bind_collate,
    exp.Case: bind_case,
}

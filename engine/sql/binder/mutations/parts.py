"""Assignment to a part of a column: an array's element or slice, a composite value's attribute, a jsonb's member or
element.

The statement assigns the whole column with that part replaced. If the column is null, the part is assigned in an empty
array, or in a row of nulls. Arrays have one dimension here and begin at 1; an assignment that would make another array
is 0A000.

Source: PostgreSQL 15, transformAssignmentIndirection; arraysubs.c, jsonbsubs.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import TableColumn
from engine.common.sql_type import SqlType, element_type, of
from engine.plan_ir.expr import Const, Expr, Row, with_type
from engine.sql.binder.blocks import row_items
from engine.sql.binder.casts import can_coerce
from engine.sql.binder.mutations.target import is_default, within_domain
from engine.sql.binder.scope import Scope
from engine.sql.binder.values import bind_index, make_array
from engine.sql.parser.lexical.positions import cursor, position
from wire.errors import DatatypeMismatch, FeatureNotSupported, UndefinedColumn
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

#: The column as it is written, and the subscripts and fields after it.
Part = tuple[exp.Identifier, Sequence[exp.Expression]]


def with_part(binder: QueryBinder, column: TableColumn, whole: Expr, written: Part, value: Expr, scope: Scope) -> Expr:
    """Return `whole`, a value of the column, with one of its parts replaced. Raises DatatypeMismatch, UndefinedColumn."""
    name, parts = written
    made = _Assigned(binder, column.name, scope, cursor(position(name))).replace_part(
        whole, column.type, list(parts), value
    )
    return within_domain(binder, made, column)


def forbid_default(value: exp.Expression, written: Part) -> None:
    """Raises FeatureNotSupported for DEFAULT as the value of a part."""
    name, parts = written
    if parts and is_default(value):
        what = "an array element" if isinstance(parts[0], exp.Bracket) else "a subfield"
        raise FeatureNotSupported(f"cannot set {what} to DEFAULT", position=cursor(position(name)))


class _Assigned:
    """An assignment to a part. name: the column or field that the part belongs to. at: the position of errors, which
    is the column's.
    """

    def __init__(self, binder: QueryBinder, name: str, scope: Scope, at: int | None) -> None:
        self.binder = binder
        self.name = name
        self.scope = scope
        self.at = at

    def replace_part(self, whole: Expr, typ: SqlType, parts: list[exp.Expression], value: Expr) -> Expr:
        part, *inner = parts
        if isinstance(part, exp.Dot):
            return self._field(whole, typ, part, inner, value)
        return self._element(whole, typ, part, inner, value)

    def _field(self, whole: Expr, typ: SqlType, part: exp.Dot, inner: list[exp.Expression], value: Expr) -> Expr:
        field = part.expression.name
        said = f'cannot assign to field "{field}" of column "{self.name}" because'
        if typ.pg.category != "C":
            raise DatatypeMismatch(f"{said} its type {typ} is not a composite type", position=self.at)
        names = [name for name, _ in typ.fields]
        if field not in names:
            raise UndefinedColumn(f"{said} there is no such column in data type {typ}", position=self.at)
        index = names.index(field)
        wanted = typ.fields[index][1]
        items = list(row_items(whole))
        self.name = field
        if inner:
            items[index] = self.replace_part(items[index], wanted, inner, value)
        else:
            items[index] = self._as(value, wanted, f'subfield "{field}" is')
        return Row(SqlType(typ.pg), tuple(items))

    def _element(
        self, whole: Expr, typ: SqlType, part: exp.Expression, inner: list[exp.Expression], value: Expr
    ) -> Expr:
        expressions = self.binder.expressions
        if typ.pg is t.JSONB:
            return self._member(whole, [part, *inner], value)
        if not typ.pg.is_array:
            message = f"cannot subscript type {typ} because it does not support subscripting"
            # PostgreSQL points at the column's old value, which an INSERT lacks.
            raise DatatypeMismatch(message, position=None if isinstance(whole, Const) else self.at)
        if inner:
            raise FeatureNotSupported("not supported: assignment to a part of an element", position=self.at)
        (index,) = part.expressions
        said = f'subscripted assignment to "{self.name}" requires'
        if isinstance(index, exp.Slice):
            bounds = [index.args.get("this"), index.args.get("expression")]
            if None in bounds:
                message = "not supported: assignment to a slice without both bounds"
                raise FeatureNotSupported(message, position=self.at)
            places = [bind_index(expressions, bound, self.scope) for bound in bounds if bound is not None]
            given = self._as(value, typ, said)
            return with_type(expressions.function("=set_slice", [whole, *places, given], -1), typ)
        place = bind_index(expressions, index, self.scope)
        given = self._as(value, element_type(typ), said)
        return with_type(expressions.function("=set_element", [whole, place, given], -1), typ)

    def _member(self, whole: Expr, parts: list[exp.Expression], value: Expr) -> Expr:
        """Replace the value at a path of subscripts in a jsonb. A null jsonb becomes an array if the first subscript
        is a number.
        """
        steps = [self._step(part) for part in parts]
        given = self._as(value, of(t.JSONB), f'subscripted assignment to "{self.name}" requires')
        texts = [self.binder.expressions.coerce(step, of(t.TEXT), "explicit") for step in steps]
        path = make_array(of(t.TEXT), texts, -1)
        in_array = Const(of(t.BOOL), steps[0].type.pg is t.INT4)
        return self.binder.expressions.function("=set_member", [whole, path, given, in_array], -1)

    def _step(self, part: exp.Expression) -> Expr:
        """Bind a subscript of a jsonb: an integer, or a text."""
        if isinstance(part, exp.Dot):
            said = f'cannot assign to field "{part.expression.name}" of column "{self.name}" because its type jsonb'
            raise DatatypeMismatch(f"{said} is not a composite type", position=self.at)
        (index,) = part.expressions
        if isinstance(index, exp.Slice):
            bound = index.args.get("expression") or index.args.get("this")
            raise DatatypeMismatch("jsonb subscript does not support slices", position=cursor(position(bound)))
        step = self.binder.expressions.bind(index, self.scope)
        for wanted in (t.INT4, t.TEXT):
            if can_coerce(step.type.pg, wanted, "implicit") and (step.type.pg is not t.UNKNOWN or wanted is t.TEXT):
                return self.binder.expressions.coercer.coerce_type(step, wanted, "implicit")
        raise DatatypeMismatch(
            f"subscript type {step.type.pg.sql_name} is not supported",
            hint="jsonb subscript must be coercible to either integer or text.",
            position=cursor(step.position),
        )

    def _as(self, value: Expr, wanted: SqlType, said: str) -> Expr:
        """Coerce the value to the type of the part."""
        if not can_coerce(value.type.pg, wanted.pg, "assignment"):
            kind = f"of type {wanted}" if said.endswith(" is") else f"type {wanted}"
            raise DatatypeMismatch(
                f"{said} {kind} but expression is of type {value.type}",
                hint="You will need to rewrite or cast the expression.",
                position=self.at,
            )
        expressions = self.binder.expressions
        return expressions.coercer.relabel(expressions.coerce(value, wanted, "assignment"), wanted)

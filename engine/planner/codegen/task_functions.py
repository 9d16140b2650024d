"""Calls that Spark has no template for, computed by DuckDB in Spark's tasks, a batch at a time.

Such a call becomes a call of a temporary Spark function, whose code (`engine.executors.spark.function_task`) runs the
local engine's template over each Arrow batch of arguments. So the function has one meaning on both engines. If calls
among its arguments lack a Spark template as well, they are part of the same DuckDB statement. Constants and parameters
are written into that statement, as templates may depend on them. Whatever Spark can compute is an argument.

**Errors.** Spark computes such functions before the expression that contains them, for all rows, even where a CASE
would never use the value. So the function itself never fails: it returns a struct of the value and of the error's text,
and the expression around it raises the error where the value is used.

Only values that Arrow carries alike between both engines can be arguments and results (`CARRIED`). Spark computes no
such function inside a lambda, nor in the condition of an outer join: such a statement runs in process (`check_places`).

Rejected: templates for Spark written by hand, as for other functions: 247 more texts, and JSON, text search and exact
logarithms cannot be expressed in Spark's SQL at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from engine.common.sql_type import SqlType, element_type
from engine.plan_ir.expr import Call, Const, Expr, ParamRef
from engine.planner.codegen.calls import apply, describe, settle
from engine.planner.codegen.scope import Scope
from engine.planner.codegen.task_function import TaskFunction
from engine.sql.functions.trees import fail_with
from engine.sql.trees.build import call, case, cast, column, integer, is_null, label, with_alias
from engine.sql.trees.dialects import to_sql
from engine.sql.trees.literals import literal
from engine.sql.trees.storage_types import STORED_ALIKE, storage_name, storage_type
from engine.sql.trees.unsupported import Unsupported
from wire.types import pg_types as t

#: The types of arguments and results: padded text has not been tried.
CARRIED: Final = STORED_ALIKE - {t.BPCHAR, t.CHAR}
#: The fields of such a function's result.
VALUE, ERROR = "v", "e"
_GIVEN: Final = "given"
#: DuckDB's name of the relation that holds an Arrow batch of arguments.
ARGUMENTS: Final = "arguments"
_PREFIX: Final = "sluice_task_"


class TaskCall:
    """One call that is being compiled for a task; a function that returns a set gives the array of its rows.

    inlined: calls in its arguments that Spark lacks as well are part of it. arguments: the values that Spark computes
    for it, in the order of its columns.

    Raises Unsupported if a task cannot compute the call.
    """

    def __init__(self, call: Call, parameters: Mapping[int, object], *, inlined: bool) -> None:
        if not _is_carried(call.type):
            raise Unsupported("spark", describe(call.function))
        self._call = call
        self._inlined = inlined
        self._parameters = parameters
        self.arguments: list[Expr] = []
        returns, value = storage_name(call.type, "spark"), storage_type(call.type, "local")
        if call.function.returns_set:
            returns = f"ARRAY<{returns}>"
            value = exp.DataType(this=exp.DataType.Type.ARRAY, expressions=[value], nested=True)
        tree = cast(self._tree(call), value)
        select = exp.Select(expressions=[with_alias(tree, VALUE)]).from_(exp.to_identifier(ARGUMENTS), copy=False)
        statement = to_sql(select, "local")
        digest = hashlib.sha256(repr((statement, returns)).encode()).hexdigest()
        self.function = TaskFunction(f"{_PREFIX}{digest[:24]}", statement, returns)

    def _tree(self, expr: Expr) -> exp.Expression:
        match expr:
            case Const():
                return literal(expr.value, expr.type, "local")
            case ParamRef() if expr.index in self._parameters:
                return literal(self._parameters[expr.index], expr.type, "local")
            case Call() if expr is self._call or (self._inlined and is_for_tasks(expr)):
                applied = apply(expr, [self._tree(arg) for arg in expr.args], "local")
                return applied if expr.function.returns_set else settle(applied, expr.type, "local")
            case _:
                return self._argument(expr)

    def _argument(self, expr: Expr) -> exp.Expression:
        if not _is_carried(expr.type):
            raise Unsupported("spark", f"{expr.type} as an argument")
        if expr not in self.arguments:
            self.arguments.append(expr)
        return column(f"a{self.arguments.index(expr)}", ARGUMENTS)


def is_for_tasks(call: Call) -> bool:
    """Whether Spark has no template for the call, and tasks may be able to compute it."""
    return call.function.spark is None and may_run_in_task(call)


def may_run_in_task(call: Call) -> bool:
    """Whether tasks may be able to compute the call. That includes calls for which Spark has a template, but not for
    these arguments.
    """
    function = call.function
    kinds = ("function", "operator", "cast")
    return function.local is not None and function.kind in kinds and function.volatility != "volatile"


def render_task_call(call: Call, scope: Scope) -> exp.Expression:
    """Compile a call that Spark's tasks compute, as part of Spark's statement."""
    task = TaskCall(call, scope.compilation.bindings.parameters, inlined=True)
    return _call_function(task.function, [scope.compilation.render(arg, scope) for arg in task.arguments], scope)


def call_with_arguments(call: Call, arguments: Sequence[exp.Expression], scope: Scope) -> exp.Expression:
    """Compile the same with arguments that have been compiled for Spark."""
    task = TaskCall(call, scope.compilation.bindings.parameters, inlined=False)
    compiled = [arguments[call.args.index(arg)] for arg in task.arguments]
    return _call_function(task.function, compiled, scope)


def _call_function(function: TaskFunction, arguments: Sequence[exp.Expression], scope: Scope) -> exp.Expression:
    """Call the function, and raise the error that it may return instead of a value. The call stands in the text once,
    as the value of a lambda's parameter, since calls may be nested.
    """
    scope.compilation.functions[function.name] = function
    given = exp.Anonymous(this=function.name, expressions=list(arguments) or [exp.Boolean(this=True)])
    value, error = (exp.Dot(this=label(_GIVEN), expression=exp.to_identifier(field)) for field in (VALUE, ERROR))
    checked = case([(is_null(error), value)], fail_with("spark", error.copy()))
    result = call("TRANSFORM", call("ARRAY", given), exp.Lambda(this=checked, expressions=[label(_GIVEN)]))
    return call("ELEMENT_AT", result, integer(1))


def check_places(statement: exp.Expression) -> None:
    """Raise Unsupported for a statement that calls such a function where Spark cannot compute it."""
    for called in statement.find_all(exp.Anonymous):
        if called.name.startswith(_PREFIX) and _is_out_of_place(called):
            raise Unsupported("spark", "a function of DuckDB's inside a lambda or the condition of an outer join")


def _is_out_of_place(called: exp.Expression) -> bool:
    inner: exp.Expr = called
    outer = called.parent
    while outer is not None:
        if isinstance(outer, exp.Lambda):
            return True
        if isinstance(outer, exp.Join) and inner is outer.args.get("on"):
            return bool(outer.side or outer.kind)
        if isinstance(outer, exp.Select):
            return False
        inner, outer = outer, outer.parent
    return False


def _is_carried(typ: SqlType) -> bool:
    if typ.pg.is_row:
        return bool(typ.fields) and all(_is_carried(field) for _, field in typ.fields)
    if typ.pg.is_array:
        return typ.dimensions == 1 and _is_carried(element_type(typ))
    return (typ.pg.carried or typ.pg) in CARRIED

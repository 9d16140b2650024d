"""The function table: one row per PostgreSQL function, operator, cast and aggregate signature.

A row says what PostgreSQL's pg_proc, pg_operator or pg_cast says (argument types, result type, strictness, volatility)
and how each engine computes it. The binder resolves calls against it by chapter 10's rules, `engine.planner.codegen` builds
the engine's tree from it, the system catalog lists it, and a test runs every row on Spark, DuckDB and PostgreSQL.

**Templates.** `local` and `spark` are SQL snippets in that engine's own dialect with `$1`, `$2` ... for the arguments
(`$*` for all arguments of a variadic call), parsed once into a sqlglot tree and then copied with the arguments put in
place; or a Python callable from the arguments' trees and the bound call to a tree, where a snippet cannot say it. None:
the engine lacks it; the planner picks the other one, or refuses with 0A000.

What a snippet may rely on, beyond scalar calls (`engine.planner.codegen` holds to it):
- every function call in a snippet is kept verbatim; arguments are put in parentheses where precedence asks for it; a
  placeholder for an optional argument that was not given is dropped from its call's arguments;
- a numeric result is cast to the call's decimal(p, s) by the compiler, so the snippet need not;
- *aggregate*, *window*: DISTINCT, ORDER BY, FILTER and OVER are put on every call in the snippet that names an aggregate
  or window function of the engine (`engine.planner.codegen.aggregate_names`), so `CAST(SUM($1) AS BIGINT)` is one snippet;
- *ordered_set*: the placeholders are the direct arguments, then WITHIN GROUP's expressions; a descending or nulls-first
  order is on `call.order_by` (a callable) or, where the snippet says `WITHIN GROUP (ORDER BY $2)`, put there;
- *returns_set*: yields an array of the rows (of structs `f0`, `f1` ... for records), which the compiler unnests.

A template's promise: given arguments in the storage types of their declared types (`engine.sql.trees.storage_types`), it
yields the storage type of the result and PostgreSQL's answer, null behaviour and errors included. An error is raised by
the engine's own means with the text `SQLSTATE:xxxxx:message` (see `raising`), which the executors translate back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from engine.common.sql_type import SqlType
from wire.dataclass import dataclass
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call, Expr

Kind = Literal["function", "operator", "cast", "aggregate", "ordered_set", "window"]
Volatility = Literal["immutable", "stable", "volatile"]
Builder = Callable[[Sequence[exp.Expression], "Call | AggregateCall"], exp.Expression]
Template = str | Builder
#: From the (coerced) arguments' types to the result's: digits of numerics, modifiers, polymorphic results.
TypeRule = Callable[[Sequence[SqlType]], SqlType]
#: The same from the arguments themselves, for results whose digits a constant's value decides (extract's field).
ValueRule = Callable[[Sequence["Expr"]], SqlType]
CastContext = Literal["implicit", "assignment", "explicit"]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """One signature.

    name: proname, or the operator's symbol (`+`; a prefix operator has one argument), or `cast`.
    args: declared argument types; may be polymorphic (ANYELEMENT, ANYARRAY, ANYNONARRAY; ANYCOMPATIBLE and its kin, whose
        arguments are brought to one common type; ANY).
    variadic: the last argument repeats (one or more times), as VARIADIC "any" or VARIADIC anyarray.
    returns: declared result type.
    rule: refines the result's SqlType; None: `returns`, resolved for polymorphism, digits unknown.
    by_value: like `rule`, from the coerced arguments; wins over `rule`.
    strict: null in, null out.
    returns_set: a set-returning function: its template gives an array of the set's rows, in order (null: no row), of
        structs f0, f1 ... when a row is a record; whoever compiles it unnests that array.
    column: what a set-returning function calls its column (its one OUT parameter's name), if not as itself.
    context: for casts, how far it may be applied by itself.
    optional: how many trailing arguments have defaults (the template sees those given).
    names: the arguments' names, where calls may use named notation; `defaults` are then the canonical values of the
        optional ones.
    """

    name: str
    kind: Kind
    args: tuple[t.PgType, ...]
    returns: t.PgType
    local: Template | None = None
    spark: Template | None = None
    rule: TypeRule | None = None
    by_value: ValueRule | None = None
    variadic: bool = False
    strict: bool = True
    volatility: Volatility = "immutable"
    returns_set: bool = False
    column: str = ""
    context: CastContext = "explicit"
    optional: int = 0
    names: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(a.name for a in self.args)})"

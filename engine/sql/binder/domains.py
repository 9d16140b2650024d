"""Values of domains: an expression of the base type, which fails where the domain's constraints do not hold.

The check is a CASE around the value: a branch for each constraint, and the value itself where all hold. Both engines,
participants and tasks therefore compute it like any expression and need not know domains. NOT NULL is checked first,
then the constraints of the domains below, then the domain's own constraints in order of name. Errors name the domain
that was requested.

Rejected: checks beside the row, as a table's CHECK constraints are (`engine.sql.binder.mutations.outcome`). A cast has
no row, and it must make the same checks as an assignment.

Source: PostgreSQL 15, typcache.c (load_domaintype_info), execExprInterp.c (ExecEvalConstraintCheck).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.common import sql_type as st
from engine.common.error_codec import as_text
from engine.plan_ir.expr import Call, Case, Coalesce, Const, Expr, IsNull, Not, ParamRef
from engine.sql.binder.scope import QueryBinder, Scope, Source, SourceColumn
from engine.sql.deparse.stored_text import read_formula
from engine.sql.functions.raising import RAISED
from wire.errors import About, CheckViolation, FeatureNotSupported, NotNullViolation, SqlError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.expressions import ExpressionBinder


def levels(domain: t.PgType) -> list[t.Domain]:
    """Return the domain and the domains below it, innermost first."""
    found, typ = [], domain
    while typ.domain is not None:
        found.append(typ.domain)
        typ = typ.domain.under
    return found[::-1]


def default_of(domain: t.PgType) -> str | None:
    """Return the default for a column of the domain that has none itself: that of the domain, or else of the nearest
    domain below it.
    """
    return next((level.default for level in reversed(levels(domain)) if level.default is not None), None)


def is_constrained(domain: t.PgType | None) -> bool:
    return domain is not None and any(level.not_null or level.checks for level in levels(domain))


def tell(binder: ExpressionBinder, value: Expr, domain: t.PgType) -> None:
    """Record the domain for a parameter that takes its type from the context, so that clients receive the domain as
    its type.
    """
    if isinstance(value, ParamRef) and value.type.pg is t.UNKNOWN:
        binder.context.parameters.fix_domain(value.index, domain)


def check_domain(binder: ExpressionBinder, value: Expr, domain: t.PgType, queries: QueryBinder) -> Expr:
    """Return `value`, which is of the domain's base type, with checks of the domain's constraints."""
    if not is_constrained(domain):
        return value
    if any(isinstance(part, Call) and part.function.volatility == "volatile" for part in value.walk()):
        raise FeatureNotSupported(
            f"not supported: a value for domain {domain.sql_name} that is another one each time it is computed"
        )
    whens = [*_null(value, domain)]
    for level in levels(domain):
        for name, text in sorted(level.checks):
            whens.append((_broken(binder, value, text, queries), _failure(_check_violation(domain, name), value)))
    return Case(value.type, tuple(whens), value, position=value.position)


def _null(value: Expr, domain: t.PgType) -> Iterator[tuple[Expr, Expr]]:
    if any(level.not_null for level in levels(domain)):
        about = About(schema=_schema(domain), data_type=domain.name)
        error = NotNullViolation(f"domain {domain.sql_name} does not allow null values", about=about)
        yield IsNull(st.of(t.BOOL), value), _failure(error, value)


def _check_violation(domain: t.PgType, constraint: str) -> SqlError:
    about = About(schema=_schema(domain), data_type=domain.name, constraint=constraint)
    message = f'value for domain {domain.sql_name} violates check constraint "{constraint}"'
    return CheckViolation(message, about=about)


def _schema(domain: t.PgType) -> str:
    assert domain.domain is not None
    return domain.domain.schema


def _failure(error: SqlError, value: Expr) -> Expr:
    return Call(value.type, RAISED, (Const(st.of(t.TEXT), as_text(error)),))


def _broken(binder: ExpressionBinder, value: Expr, text: str, queries: QueryBinder) -> Expr:
    """Return whether a condition is violated: it is false. An unknown condition is not violated."""
    scope = Scope(binder.context, queries)
    # The value's columns already have an owner, set where the value was bound. The scope therefore only offers the
    # value (no `Scope.add`).
    scope.sources.append(Source("", (SourceColumn("value", value),)))
    with _drop_position():
        condition = binder.as_boolean(binder.bind(read_formula(text), scope), "CHECK")
    return Not(condition.type, Coalesce(condition.type, (condition, Const(condition.type, True))))


@contextmanager
def _drop_position() -> Iterator[None]:
    """Remove the position from errors in a definition, because it is not part of the statement."""
    try:
        yield
    except SqlError as error:
        error.position = None
        raise

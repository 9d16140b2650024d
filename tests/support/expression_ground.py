"""A scope with a column of every type, in which tests of the expression binder bind single expressions.

A small real binder replaces the query binder: it binds SELECTs of expressions without FROM over the enclosing scope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.pg_catalog.fixed_catalog import FixedCatalog
from engine.plan_ir.expr import ColumnRef, Expr, Node
from engine.plan_ir.logical import Evaluator, Values
from engine.sql.binder.handlers import expression_binder
from engine.sql.binder.scope import BindContext, ParameterTypes, Scope, Source, SourceColumn
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings

#: The columns of table `x`, as CREATE TABLE spells their types.
COLUMNS: Final[Mapping[str, str]] = {
    "b": "boolean",
    "i2": "smallint",
    "i4": "integer",
    "i8": "bigint",
    "f4": "real",
    "f8": "double precision",
    "n": "numeric(15,2)",
    "nu": "numeric",
    "tx": "text",
    "vc": "varchar(10)",
    "bp": "char(10)",
    "na": "name",
    "d": "date",
    "tm": "time",
    "ttz": "timetz",
    "ts": "timestamp",
    "tz": "timestamptz",
    "iv": "interval",
    "u": "uuid",
    "js": "json",
    "jb": "jsonb",
    "by": "bytea",
    "o": "oid",
    "ia": "integer[]",
    "ta": "text[]",
    "nua": "numeric(10,2)[]",
}
_TYPES: Final[Mapping[str, SqlType]] = {
    "n": st.numeric(15, 2, typmod=t.numeric_typmod(15, 2)),
    "vc": SqlType(t.VARCHAR, 14),
    "bp": SqlType(t.BPCHAR, 14),
    "ia": SqlType(t.array_of(t.INT4)),
    "ta": SqlType(t.array_of(t.TEXT)),
    "nua": st.of(t.array_of(t.NUMERIC), t.numeric_typmod(10, 2)),
}


class Ground:
    """The binder and the scope of one statement. parameters: the OIDs that a client declares."""

    def __init__(self, parameters: Sequence[int] = (), settings: InputSettings | None = None) -> None:
        self.parameters = ParameterTypes(parameters)
        self.context = BindContext(FixedCatalog({}), ("public",), settings or InputSettings(), self.parameters)
        self.scope = Scope(self.context, self)
        self.binder = expression_binder(self.context)
        source = Source("x", tuple(self._column(name, typ) for name, typ in COLUMNS.items()))
        self.scope.sources.append(source)
        self.scope.add(source)

    def _column(self, name: str, typ: str) -> SourceColumn:
        known = _TYPES.get(name) or st.of(t.BY_NAME.get(typ) or t.ALIASES[typ])
        return SourceColumn(name, ColumnRef(known, self.context.new_column(name, known)))

    def bind_subquery(self, tree: exp.Expression, scope: Scope) -> tuple[Node, tuple[str, ...]]:
        inner = Scope(self.context, self, scope)
        emit = tuple(self.binder.settle(self.binder.bind(_bare(e), inner)) for e in tree.expressions)
        columns = tuple(self.context.new_column("column", e.type) for e in emit)
        return Evaluator(columns, Values((), ((),)), emit), tuple(c.name for c in columns)

    def bind(self, sql: str) -> Expr:
        """Bind `select <sql>` as an output column is bound."""
        (statement,) = parse(f"select {sql}")
        assert isinstance(statement, Query)
        return self.binder.settle(self.binder.bind(_bare(statement.tree.expressions[0]), self.scope))


def _bare(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Alias) else node


def bind(sql: str, parameters: Sequence[int] = ()) -> Expr:
    return Ground(parameters).bind(sql)

"""Positions of errors in a statement, counted in the whole query string."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass

from sqlglot import exp

from engine.sql.parser.lexical.positions import cursor, position
from engine.sql.parser.nodes import statements as s
from wire.errors import SqlError, UndefinedParameter


def query_of(statement: s.Statement) -> s.Statement:
    """Return the query inside a statement, in whose text the engine counts positions; else the statement itself."""
    match statement:
        case (
            s.DeclareCursor(query=query)
            | s.CreateView(query=query)
            | s.CreateTableAs(query=query)
            | s.CreateMaterializedView(query=query)
        ):
            return query
        case s.Explain(inner=inner):
            return query_of(inner)
    return statement


def has_parameters(statement: s.Statement) -> bool:
    return _first_parameter(statement) is not None


def _first_parameter(statement: s.Statement) -> exp.Parameter | None:
    query = query_of(statement)
    trees = _trees(query) if isinstance(query, s.Query | s.MutationStatement) else ()
    return min((node for tree in trees for node in tree.find_all(exp.Parameter)), key=position, default=None)


def no_such_parameter(statement: s.Statement) -> UndefinedParameter:
    """Return the error for a parameter in a simple query, where it cannot get a value. It names the first parameter."""
    first = _first_parameter(statement)
    if first is None:
        return UndefinedParameter("there is no parameter $1")
    return UndefinedParameter(f"there is no parameter ${first.name}", position=cursor(position(first)))


def _trees(part: object) -> Iterator[exp.Expression]:
    """Yield the trees of a statement, including those in its lists and parts."""
    if isinstance(part, exp.Expression):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _trees(item)
    elif is_dataclass(part):
        for item in fields(part):
            yield from _trees(getattr(part, item.name))


@contextmanager
def locate_errors(statement: s.Statement) -> Iterator[None]:
    """Shift the positions of errors from the statement to the query string of which it is part."""
    try:
        yield
    except SqlError as error:
        if error.position is not None:
            error.position += statement.offset
        raise

r"""Replaces literals by parameters, so that queries that differ only in their literals share a plan.

Programs write values into the text of a query, `WHERE id = 7` and then `WHERE id = 8`; psql's `\d` does for each table,
and a driver for each look at columns. Binding and compiling such a query takes many times as long as running it. So a
literal that is compared with a column becomes a parameter, and the query is planned as one with parameters: by
PostgreSQL's rule for these, a few times for the values, then by a generic plan if that is no worse
(`engine.statements.query.plan_cache`).

Only whole numbers and plain strings are replaced, in a WHERE or an ON clause, if a column is compared with them. A
string gets the column's type, as a parameter does, and its value is what the type's input function makes of it. In
queries over the system catalog only whole numbers that a column is to equal are replaced, quoted ones too: given the
name of a schema, DuckDB skips most of the computation in information_schema's views; given a value that it does not
know, it skips nothing. A query that is not understood, or is wrong, is planned as it was written, so that errors refer
to the client's text, at its positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.sql.parser.lexical.positions import position
from engine.sql.parser.nodes.statements import Query
from engine.sql.trees.copies import copy_tree
from wire.dataclass import dataclass
from wire.errors import SqlError
from wire.types import pg_types as t
from wire.types.input import parse_text
from wire.types.text_settings import InputSettings

_PREFIX: Final = "pg_"
_SCHEMAS: Final = frozenset(("pg_catalog", "information_schema"))
#: The largest value of the type that a whole number has without a cast (make_const).
_INT4_MAX: Final = 2**31 - 1
_OID_DIGITS: Final = 9
#: Types for which the value of a string depends on nothing else: not on the number of its digits, nor on the current
#: time.
_STRINGS: Final = frozenset((t.TEXT, t.VARCHAR, t.UUID, t.OID, t.INT2, t.INT4, t.INT8))
#: Types for which this holds for strings of digits: no words such as "today", and no zone.
_MOMENTS: Final = frozenset((t.DATE, t.TIMESTAMP))
_MOMENT_CHARACTERS: Final = frozenset("0123456789-:. ")
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_MOST: Final = 32
#: The maximum length of a query over tables, whose tree is copied, and of any query that is cached.
_LONGEST: Final = 2048


@dataclass(frozen=True, slots=True)
class LiftedQuery:
    """A query with parameters in place of literals. types: the parameters' types as a client would declare them; 0: to
    be inferred. literals: the texts of their values. numbers: whether all are whole numbers.
    """

    query: Query
    types: tuple[int, ...]
    literals: tuple[str, ...]
    numbers: bool

    def arguments(self, types: Sequence[t.PgType], settings: InputSettings) -> tuple[Any, ...] | None:
        """Return the values of the parameters for their inferred types; None if a text cannot be read as it stands."""
        if len(types) != len(self.literals):
            return None
        found: list[Any] = []
        for typ, declared, literal in zip(types, self.types, self.literals, strict=True):
            if declared or (typ is t.REGCLASS and _is_number(literal)):
                found.append(int(literal))
            elif typ in _STRINGS or (typ in _MOMENTS and _MOMENT_CHARACTERS.issuperset(literal)):
                try:
                    found.append(parse_text(typ, literal, settings=settings))
                except SqlError:
                    return None
            else:
                return None
        return tuple(found)


#: The lifted queries by text and offset. The cache does not keep the parsed statements.
_LIFTED: Final[WeightedLruCache[tuple[str, int], LiftedQuery | None]] = WeightedLruCache(256)
#: Queries with parameters, by text, offset, and whether only the literals of a catalog query are lifted. Nobody changes them.
_SHARED: Final[WeightedLruCache[tuple[str, int, bool], Query]] = WeightedLruCache(
    256, 1 << 19, lambda key, _: len(key[0])
)


def lift_literals(query: Query) -> LiftedQuery | None:
    """Return the query with its literals replaced by parameters; None if none of them can be replaced."""
    if len(query.text) <= _LONGEST:
        return _LIFTED.get((query.text, query.offset), lambda: _lift(query, of_catalog=_may_read_catalog(query)))
    return _lift(query, of_catalog=True) if _may_read_catalog(query) else None


def _lift(query: Query, *, of_catalog: bool) -> LiftedQuery | None:
    places = _liftable(query.tree, query.text, of_catalog=of_catalog)
    if not places or len(places) > _MOST or any(isinstance(node, exp.Parameter) for node in _nodes(query.tree)):
        return None
    places.sort(key=position)
    parts: list[str] = []
    end = 0
    for number, literal in enumerate(places, 1):
        start = position(literal)
        parts += query.text[end:start], f"${number}"
        end = start + len(_literal_text(literal))
    text = "".join((*parts, query.text[end:]))
    types = tuple(0 if literal.is_string else t.INT4.oid for literal in places)
    literals = tuple(literal.name for literal in places)
    shared = _SHARED.get((text, query.offset, of_catalog), lambda: _with_parameters(query, text, of_catalog=of_catalog))
    return LiftedQuery(shared, types, literals, all(map(_is_number, literals)))


def _with_parameters(query: Query, text: str, *, of_catalog: bool) -> Query:
    """Return the query of this text, which has parameters in the places of the literals that can be lifted."""
    tree = copy_tree(query.tree)
    for number, literal in enumerate(sorted(_liftable(tree, query.text, of_catalog=of_catalog), key=position), 1):
        literal.replace(exp.Parameter(this=str(number)))
    return replace(query, tree=tree, text=text)


def _may_read_catalog(query: Query) -> bool:
    """Return whether all relations that the query names may be system relations; binding decides what they are."""
    if _PREFIX not in query.text and "information_schema" not in query.text:
        return False
    named = {item.alias for item in query.tree.find_all(exp.CTE)}
    tables = [table for table in query.tree.find_all(exp.Table) if table.db or table.name not in named]
    return bool(tables) and all(table.db in _SCHEMAS or table.name.startswith(_PREFIX) for table in tables)


def _liftable(tree: exp.Expression, text: str, *, of_catalog: bool) -> list[exp.Literal]:
    comparands = _comparands(tree, (exp.EQ,) if of_catalog else _COMPARISONS)
    return [literal for literal in comparands if _is_liftable(literal, text, of_catalog=of_catalog)]


def _comparands(tree: exp.Expression, comparisons: tuple[type[exp.Expression], ...]) -> Iterator[exp.Literal]:
    """Yield the literals with which conditions compare a column."""
    for node in _nodes(tree):
        if not isinstance(node, comparisons):
            continue
        sides = [node.this, *(node.args.get(name) for name in ("expression", "low", "high"))]
        if any(isinstance(side, exp.Column) for side in sides) and _is_in_condition(node):
            yield from (side for side in sides if isinstance(side, exp.Literal))


def _nodes(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes of a tree in any order: several times as fast as `walk`, which keeps an order and can be pruned."""
    rest = [tree]
    while rest:
        node = rest.pop()
        yield node
        for part in node.args.values():
            if isinstance(part, exp.Expr):
                rest.append(part)
            elif isinstance(part, list):
                rest += (item for item in part if isinstance(item, exp.Expr))


def _is_in_condition(node: exp.Expr) -> bool:
    """Return whether an expression is part of a WHERE or an ON clause."""
    inner, outer = node, node.parent
    while outer is not None:
        if isinstance(outer, exp.Where) or (isinstance(outer, exp.Join) and inner.arg_key == "on"):
            return True
        inner, outer = outer, outer.parent
    return False


def _is_liftable(literal: exp.Literal, text: str, *, of_catalog: bool) -> bool:
    value, start = literal.name, position(literal)
    if start < 0 or not text.startswith(_literal_text(literal), start):
        # A literal with escapes, in dollar quotes, or in digits of another base.
        return False
    if not literal.is_string:
        return _is_number(value) and int(value) <= _INT4_MAX
    return "'" not in value if not of_catalog else _is_number(value) and len(value) <= _OID_DIGITS


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _literal_text(literal: exp.Literal) -> str:
    """Return a literal in its usual spelling."""
    return f"'{literal.name}'" if literal.is_string else str(literal.name)

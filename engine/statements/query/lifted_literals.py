"""Literals that become parameters, so that queries that differ in them alone share a plan.

A program that writes its values into the text, `WHERE id = 7` and then `WHERE id = 8`; psql's `\\d` of another table; a driver's
next look at columns. To bind and compile such a query takes many times as long as to run it. So what a column is compared with
becomes a parameter, and the query is planned as one with parameters: by PostgreSQL's rule for these, a few times for the
values, then by a generic plan if that is no worse (`engine.statements.query.plan_cache`).

Only whole numbers and plain strings, in a WHERE or an ON clause, with which a column is compared. The type of a string is taken
from the column as a parameter's is, and its value is what the type's input makes of it. Of the system catalog only whole numbers
that are to equal a column, in quotes too: by the name of a schema DuckDB leaves out most of what the views of information_schema
would compute, by a value that it does not know it leaves out nothing. What is not understood, or is wrong, is planned as it was
written: errors are those of the client's text, at its positions.
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
#: The largest of the type that a whole number is without a cast (make_const).
_INT4_MAX: Final = 2**31 - 1
_OID_DIGITS: Final = 9
#: Types of which a string is a value by itself: not by the digits that it has, nor by the time at which it is read.
_STRINGS: Final = frozenset((t.TEXT, t.VARCHAR, t.UUID, t.OID, t.INT2, t.INT4, t.INT8))
#: Types of which a string in digits is: without words such as "today", and without a zone.
_MOMENTS: Final = frozenset((t.DATE, t.TIMESTAMP))
_MOMENT_CHARACTERS: Final = frozenset("0123456789-:. ")
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_MOST: Final = 32
#: Characters of a query over tables, of which a copy is made, and of any that is kept.
_LONGEST: Final = 2048


@dataclass(frozen=True, slots=True)
class LiftedQuery:
    """A query with parameters in the places of literals. types: of the parameters as a client would declare them; 0: to be found.
    literals: their values as they were written. numbers: whether all are whole numbers."""

    query: Query
    types: tuple[int, ...]
    literals: tuple[str, ...]
    numbers: bool

    def arguments(self, types: Sequence[t.PgType], settings: InputSettings) -> tuple[Any, ...] | None:
        """The values of the parameters, whose types have been found; None where one is not to be had of a text as it stands."""
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


#: By text and offset: a statement that was parsed is kept by nobody here.
_LIFTED: Final[WeightedLruCache[tuple[str, int], LiftedQuery | None]] = WeightedLruCache(256)
#: Queries with parameters, by text, offset, and whether only the literals of a catalog query are lifted. Nobody changes them.
_SHARED: Final[WeightedLruCache[tuple[str, int, bool], Query]] = WeightedLruCache(
    256, 1 << 19, lambda key, _: len(key[0])
)


def lift_literals(query: Query) -> LiftedQuery | None:
    """The query with parameters for its literals; None if it has none that may be lifted."""
    if len(query.text) <= _LONGEST:
        return _LIFTED.get((query.text, query.offset), lambda: _lift(query, of_catalog=_may_read_catalog(query)))
    return _lift(query, of_catalog=True) if _may_read_catalog(query) else None


def _lift(query: Query, *, of_catalog: bool) -> LiftedQuery | None:
    places = _liftable(query.tree, query.text, of_catalog=of_catalog)
    if not places or len(places) > _MOST or query.tree.find(exp.Parameter) is not None:
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
    """Whether all relations that are named may be the system's: what they are is found when the query is bound."""
    if _PREFIX not in query.text and "information_schema" not in query.text:
        return False
    named = {item.alias for item in query.tree.find_all(exp.CTE)}
    tables = [table for table in query.tree.find_all(exp.Table) if table.db or table.name not in named]
    return bool(tables) and all(table.db in _SCHEMAS or table.name.startswith(_PREFIX) for table in tables)


def _liftable(tree: exp.Expression, text: str, *, of_catalog: bool) -> list[exp.Literal]:
    comparands = _comparands(tree, (exp.EQ,) if of_catalog else _COMPARISONS)
    return [literal for literal in comparands if _is_liftable(literal, text, of_catalog=of_catalog)]


def _comparands(tree: exp.Expression, comparisons: tuple[type[exp.Expression], ...]) -> Iterator[exp.Literal]:
    """Literals that conditions compare a column with."""
    clauses = [where.this for where in tree.find_all(exp.Where)]
    clauses += [join.args["on"] for join in tree.find_all(exp.Join) if join.args.get("on") is not None]
    found: dict[int, exp.Literal] = {}
    for node in (node for clause in clauses for node in clause.walk() if isinstance(node, comparisons)):
        sides = [node.this, *(node.args.get(name) for name in ("expression", "low", "high"))]
        if any(isinstance(side, exp.Column) for side in sides):
            found.update((id(side), side) for side in sides if isinstance(side, exp.Literal))
    yield from found.values()


def _is_liftable(literal: exp.Literal, text: str, *, of_catalog: bool) -> bool:
    value, start = literal.name, position(literal)
    if start < 0 or not text.startswith(_literal_text(literal), start):
        # Written with escapes, in dollars, or in digits of another base.
        return False
    if not literal.is_string:
        return _is_number(value) and int(value) <= _INT4_MAX
    return "'" not in value if not of_catalog else _is_number(value) and len(value) <= _OID_DIGITS


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _literal_text(literal: exp.Literal) -> str:
    """A literal as it is mostly written."""
    return f"'{literal.name}'" if literal.is_string else str(literal.name)

"""Numbers in catalog queries that become parameters, so that queries of tools share a plan.

psql's `\\d` of another table, a driver's next look at columns: the same text but for an OID. To bind and compile such a query
takes a hundred times as long as to run it, and none of its plan goes by the value. So what a column of the catalog is compared with
becomes a parameter, and the query is planned as one with parameters, whose generic plan any value fits
(`engine.statements.query.plan_cache`).

Only whole numbers, in a WHERE or an ON clause, that are to equal a column; in quotes too, since the type of a string is taken from
the column as a parameter's is. Names are none of them: by the name of a schema DuckDB leaves out most of what the views of
information_schema would compute, by a value that it does not know it leaves out nothing. What is not understood, or is wrong, is
planned as it was written: errors are those of the client's text, at its positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.sql.parser.lexical.positions import position
from engine.sql.parser.nodes.statements import Query
from engine.sql.trees.copies import copy_tree
from wire.dataclass import dataclass
from wire.types import pg_types as t

_PREFIX: Final = "pg_"
_SCHEMAS: Final = frozenset(("pg_catalog", "information_schema"))
#: The largest of the type that a whole number is without a cast (make_const).
_INT4_MAX: Final = 2**31 - 1
_INT2_MAX: Final = 2**15 - 1
_OID_DIGITS: Final = 9
_NUMBERS: Final = frozenset((t.OID, t.INT2, t.INT4, t.INT8, t.REGCLASS))
_MOST: Final = 32


@dataclass(frozen=True, slots=True)
class LiftedQuery:
    """A query with parameters in the places of literals. types: of the parameters as a client would declare them; 0: to be found.
    literals: their values as they were written."""

    query: Query
    types: tuple[int, ...]
    literals: tuple[str, ...]

    def arguments(self, types: Sequence[t.PgType]) -> tuple[Any, ...] | None:
        """The values of the parameters, whose types have been found; None where one is not to be had of a text as it stands."""
        if len(types) != len(self.literals):
            return None
        found: list[Any] = []
        for typ, literal in zip(types, self.literals, strict=True):
            if typ in _NUMBERS and _is_number(literal) and (typ is not t.INT2 or int(literal) <= _INT2_MAX):
                found.append(int(literal))
            else:
                return None
        return tuple(found)


def lift_literals(query: Query) -> LiftedQuery | None:
    """The query over the system catalog with parameters for its literals; None if it is none, or has none that may be lifted."""
    text = query.text
    if (_PREFIX not in text and "information_schema" not in text) or not _reads_catalog(query.tree):
        return None
    tree = copy_tree(query.tree)
    places = [literal for literal in _comparands(tree) if _is_liftable(literal, text)]
    if not places or len(places) > _MOST or tree.find(exp.Parameter) is not None:
        return None
    places.sort(key=position)
    parts: list[str] = []
    end = 0
    for number, literal in enumerate(places, 1):
        start = position(literal)
        parts += text[end:start], f"${number}"
        end = start + len(_literal_text(literal))
        literal.replace(exp.Parameter(this=str(number)))
    types = tuple(0 if literal.is_string else t.INT4.oid for literal in places)
    lifted = replace(query, tree=tree, text="".join((*parts, text[end:])))
    return LiftedQuery(lifted, types, tuple(literal.name for literal in places))


def _reads_catalog(tree: exp.Expression) -> bool:
    """Whether all relations that are named may be the system's: what they are is found when the query is bound."""
    named = {item.alias for item in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if table.db or table.name not in named]
    return bool(tables) and all(table.db in _SCHEMAS or table.name.startswith(_PREFIX) for table in tables)


def _comparands(tree: exp.Expression) -> Iterator[exp.Literal]:
    """Literals that conditions compare a column with."""
    clauses = [where.this for where in tree.find_all(exp.Where)]
    clauses += [join.args["on"] for join in tree.find_all(exp.Join) if join.args.get("on") is not None]
    found: dict[int, exp.Literal] = {}
    for node in (node for clause in clauses for node in clause.walk()):
        match node:
            case exp.EQ(this=exp.Column(), expression=exp.Literal() as literal):
                found[id(literal)] = literal
            case exp.EQ(this=exp.Literal() as literal, expression=exp.Column()):
                found[id(literal)] = literal
    yield from found.values()


def _is_liftable(literal: exp.Literal, text: str) -> bool:
    value, start = literal.name, position(literal)
    if start < 0 or not text.startswith(_literal_text(literal), start):
        # Written with escapes, in dollars, or in digits of another base.
        return False
    return _is_number(value) and (len(value) <= _OID_DIGITS if literal.is_string else int(value) <= _INT4_MAX)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _literal_text(literal: exp.Literal) -> str:
    """A literal as it is mostly written."""
    return f"'{literal.name}'" if literal.is_string else str(literal.name)

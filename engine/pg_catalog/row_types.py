"""The row types of relations: each table, view and foreign table has a composite type of its name.

Their OIDs are computed from the relation's, so the catalog stores nothing for them, and relations of earlier releases
have them too. OIDs of row types lie above 2^30, those of arrays of rows 2^29 higher. No relation's OID comes near 2^29.

Rejected: OIDs of their own, as in PostgreSQL. Each relation's stored body would carry two more numbers that nobody
chose.
"""

from __future__ import annotations

from typing import Final

from engine.catalog.model.objects import Sequence, StoredRelation, Table, View
from engine.common.identifiers import quote_ident
from wire.types import pg_types as t
from wire.types.user_types import composite_type

_ROWS: Final = 1 << 30
_ARRAYS: Final = _ROWS + (1 << 29)


def has_row_type(relation: object) -> bool:
    return isinstance(relation, Table | View)


def row_type_oid(relation: StoredRelation) -> int:
    """Return the OID of a relation's row type; zero for a sequence, which has none (PostgreSQL, heap.c:
    heap_create_with_catalog).
    """
    return 0 if isinstance(relation, Sequence) else _ROWS + relation.oid


def is_row_type(oid: int) -> bool:
    """Return whether a type is the row type of a relation, or its array type."""
    return oid >= _ROWS


def relation_of(row_type: int) -> int:
    """Return the relation of a row type, or of its array type."""
    return row_type - (_ARRAYS if row_type >= _ARRAYS else _ROWS)


def row_type(relation: Table | View) -> t.PgType:
    name = quote_ident(relation.name)
    shown = name if relation.schema == "public" else f"{quote_ident(relation.schema)}.{name}"
    attributes = tuple(
        t.Attribute(c.name, c.declared_type, _typmod(c.domain, c.type.typmod), c.number) for c in relation.columns
    )
    return composite_type(_ROWS + relation.oid, _ARRAYS + relation.oid, relation.name, shown, attributes)


def _typmod(domain: t.PgType | None, typmod: int) -> int:
    """Return an attribute's modifier; -1 for a domain, which has its modifier itself."""
    return -1 if domain is not None else typmod

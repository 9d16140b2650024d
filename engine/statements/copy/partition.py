"""COPY (query) TO STDOUT (PARTITION i OF n, QUERY 'id'): the partition of another session's cursor that a session asks
for.

The cursor belongs to another session, on any member, and the rows come from there (`server.cursors.remote_partitions`).
This module only reads the options. Source: docs/adr/0015-copy-by-partition.md.
"""

from __future__ import annotations

import hashlib
from typing import Final

from engine.sql.parser.nodes.copy import CopyOption, CopyTo
from engine.sql.parser.nodes.statements import Query
from engine.statements.copy.options import PARTITIONING, read_options
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidParameterValue, SqlSyntaxError

#: More than the number of possible connections.
_PARTITIONS_MAX: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class CopyPartition:
    """A partition of a cursor's rows. number: from 1 to `count`. query: the id of the cursor's query. statement: the
    digest of the text that this query must have.
    """

    number: int
    count: int
    query: str
    statement: str


def copy_partition(statement: CopyTo) -> CopyPartition | None:
    """Read the partition that a COPY asks for; None if it asks for none. Raises SqlError."""
    options = read_options(statement)
    partition, query = (options.get(name) for name in PARTITIONING)
    if partition is None and query is None:
        return None
    if partition is None or query is None:
        there = partition or query
        assert there is not None, "one of them is"
        raise SqlSyntaxError("COPY takes PARTITION and QUERY together", position=there.position + 1)
    if statement.file is not None:
        raise FeatureNotSupported("not supported: COPY of a partition to a file", hint="Use COPY TO STDOUT.")
    if statement.query is None:
        raise FeatureNotSupported(
            "not supported: COPY of a partition of a table", hint="Try the COPY (SELECT ...) TO variant."
        )
    if not isinstance(query.value, str):
        raise SqlSyntaxError("query requires the id of a query", position=query.position + 1)
    return CopyPartition(*_numbers(partition), query.value, statement_digest(statement.query))


def _numbers(option: CopyOption) -> tuple[int, int]:
    value, at = option.value, option.position + 1
    if (
        not isinstance(value, tuple)
        or len(value) != 2
        or not all(part.isdecimal() and len(part) < 10 for part in value)
    ):
        raise SqlSyntaxError("partition requires two whole numbers, as in PARTITION 1 OF 4", position=at)
    number, count = map(int, value)
    if not 1 <= number <= count <= _PARTITIONS_MAX:
        raise InvalidParameterValue(
            f"partition {number} of {count} is out of range",
            detail=f"Partitions are counted from 1, and there are at most {_PARTITIONS_MAX}.",
            position=at,
        )
    return number, count


def statement_digest(query: Query) -> str:
    """Return a digest of a query's text, by which two members compare their texts."""
    return hashlib.sha256(query.text.strip().encode()).hexdigest()

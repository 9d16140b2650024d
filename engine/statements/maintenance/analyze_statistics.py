"""ANALYZE: finds its tables and columns, builds the queries over their rows, and makes statistics of the results.

It runs two queries a table, like any others, so on DuckDB or on Spark as the planner chooses:

1. **Exactly, over all rows**: the number of rows and, for each column, the number of values that are not null, the
   least and the greatest value, and an estimate of the number of distinct values (HyperLogLog on both engines, within a
   few percent). PostgreSQL estimates the latter from its sample, which is wrong by orders of magnitude if most values
   are rare, and joins are estimated by it.
2. **A sample** of 300 rows for each unit of `default_statistics_target`, in which every row has the same chance: most
   common values and a histogram are made of it as PostgreSQL makes them (analyze.c: compute_scalar_stats,
   analyze_mcv_list), so that a table that is smaller than the sample has the statistics that it has there. Sampling
   blocks of rows would be faster, but for files that are written day by day the sample would then show a few days only.

Lists, records, json and intervals have no order or no equality here: for them only the nulls and the width are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.catalog.authority import UNBOUNDED, Authority
from engine.catalog.model.objects import Table, TableColumn
from engine.catalog.model.statistics import ColumnStatistics, TableStatistics
from engine.catalog.snapshot import Snapshot
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.pg_catalog import SystemCatalog
from engine.plan_ir.expr import (
    AggregateCall,
    Call,
    Column,
    ColumnRef,
    Const,
    Expr,
    Function,
    Node,
    references_to,
    with_type,
)
from engine.plan_ir.logical import Aggregator, Evaluator, Root, TableReader
from engine.sql.functions.building import agg
from engine.sql.functions.registry import registry
from engine.sql.parser.nodes.statements import Analyze, QualifiedName
from engine.statements.maintenance.vacuum_tables import may_look_after
from wire.dataclass import dataclass
from wire.errors import DuplicateColumn, FeatureNotSupported, InvalidSchemaName, Notice, UndefinedColumn, UndefinedTable
from wire.types import pg_types as t
from wire.types.output import EncodedColumn, OutputSettings, text_column

#: The number of the sample's rows for each unit of the target (analyze.c, std_typanalyze).
_ROWS_PER_VALUE: Final = 300
#: The factor by which a sample is requested larger, so that chance does not make it too small.
_MORE: Final = 1.05
#: The size above which values are in no list of common ones (analyze.c, WIDTH_THRESHOLD).
_WIDE: Final = 1024
#: The assumed number of bytes of values of variable length that are not text.
_SOME_WIDTH: Final = 8
_PAGE: Final = 8192
#: The types that have an order, and those that only have equality.
_ORDERED: Final = frozenset(
    (
        t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.BPCHAR, t.DATE, t.TIME, t.TIMESTAMP,
        t.TIMESTAMPTZ, t.OID,
    )
)  # fmt: skip
_EQUAL: Final = _ORDERED | {t.BOOL, t.UUID, t.NAME, t.CHAR}
#: Not in the function table: PostgreSQL has no such function, and clients must not find it.
_DISTINCT: Final = agg("approx_count_distinct", (t.ANY,), t.INT8, "approx_count_distinct($1)")
_SETTINGS: Final = OutputSettings()

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Analyzing:
    """The part of a session that ANALYZE uses. target: default_statistics_target. notice: sends a notice to the client."""

    snapshot: Snapshot
    search_path: Sequence[str]
    target: int
    notice: Callable[[Notice], None]
    authority: Authority = UNBOUNDED

    @property
    def sample_rows(self) -> int:
        return _ROWS_PER_VALUE * self.target


@dataclass(frozen=True, slots=True)
class Meant:
    """A table and its columns that are analysed."""

    table: Table
    columns: tuple[TableColumn, ...]


def meant(statement: Analyze, session: Analyzing) -> list[Meant]:
    """Return the tables and columns to analyse: those that the statement names, or else all stored tables. Raises
    UndefinedTable, UndefinedColumn, DuplicateColumn, FeatureNotSupported.
    """
    if not statement.tables:
        stored = (table for table in session.snapshot.tables() if table.storage is not None)
        return [Meant(table, table.columns) for table in stored if _may(table, session)]
    found = [(_find_table(name, session), columns) for name, columns in statement.tables]
    return [
        Meant(table, _columns(table, columns)) for table, columns in found if table is not None and _may(table, session)
    ]


def _may(table: Table, session: Analyzing) -> bool:
    return may_look_after(table, "analyze", session.authority, session.notice)


def _find_table(name: QualifiedName, session: Analyzing) -> Table | None:
    """Find a named table. Returns None for a relation without rows of its own, which PostgreSQL skips with a warning,
    and for the system catalog.
    """
    schemas = session.search_path if name.schema is None else (name.schema,)
    if SystemCatalog.oid_of(schemas, name.name) is not None:
        return None
    found = session.snapshot.resolve(name.schema, name.name, session.search_path)
    if name.schema is not None and not session.snapshot.has_schema(name.schema):
        raise InvalidSchemaName(f'schema "{name.schema}" does not exist')
    if found is None:
        raise UndefinedTable(f'relation "{name}" does not exist')
    if not isinstance(found, Table):
        warning = f'skipping "{name.name}" --- cannot analyze non-tables or special system tables'
        session.notice(Notice(warning, "WARNING"))
        return None
    if found.parts:
        raise FeatureNotSupported(f'not supported: ANALYZE of "{found.name}", which the topology file declares')
    return found


def _columns(table: Table, names: Sequence[str]) -> tuple[TableColumn, ...]:
    chosen: list[TableColumn] = []
    for name in names:
        column = table.column(name)
        if column is None:
            raise UndefinedColumn(f'column "{name}" of relation "{table.name}" does not exist')
        if column in chosen:
            raise DuplicateColumn(f'column "{name}" of relation "{table.name}" appears more than once')
        chosen.append(column)
    return tuple(chosen) or table.columns


# -- what is asked ---------------------------------------------------------------------------------------------------


def count_query(of: Meant) -> Root:
    """Return the query for one row: the number of rows, then for each column the values of `_counts`."""
    reader = _reader(of)
    calls = [AggregateCall(st.of(t.INT8), _aggregate("count", ()), ())]
    calls += [call for column in reader.columns for call in _counts(column)]
    columns = tuple(Column(len(reader.columns) + n, f"c{n}", call.type) for n, call in enumerate(calls, 1))
    return Root(columns, Aggregator(columns, reader, (), tuple(calls)))


def sample_query(of: Meant, rows: int, wanted: int) -> Root:
    """Return the query for a sample of about `wanted` of the table's `rows` rows, or for all of them if there are no
    more.
    """
    reader = _reader(of)
    node: Node = reader
    if rows > wanted:
        random = next(row for row in registry().functions("random") if not row.args)
        less = next(row for row in registry().operators("<", 2) if row.args == (t.FLOAT8, t.FLOAT8))
        double = st.of(t.FLOAT8)
        part = Const(double, min(1.0, wanted * _MORE / rows))
        chance = Call(st.of(t.BOOL), less, (Call(double, random, ()), part))
        node = Evaluator(reader.columns, reader, references_to(reader.columns), chance)
    return Root(reader.columns, node)


def _reader(of: Meant) -> TableReader:
    columns = tuple(Column(number, c.name, c.type) for number, c in enumerate(of.columns, 1))
    return TableReader(columns, of.table.in_files(), tuple(column.file_column for column in of.columns))


def _counts(column: Column) -> Iterator[AggregateCall]:
    value: Expr = ColumnRef(column.type, column)
    yield AggregateCall(st.of(t.INT8), _aggregate("count", (t.ANY,)), (value,))
    pg = column.type.pg
    if pg in _EQUAL:
        yield AggregateCall(st.of(t.INT8), _DISTINCT, (value,))
    if pg in _ORDERED:
        if pg is t.VARCHAR:
            value = with_type(value, st.of(t.TEXT))
        for name in ("min", "max"):
            yield AggregateCall(value.type, _aggregate(name, (value.type.pg,)), (value,))


def _aggregate(name: str, args: tuple[t.PgType, ...]) -> Function:
    return next(row for row in registry().functions(name) if row.args == args)


# -- what the answers make -------------------------------------------------------------------------------------------


def statistics(of: Meant, counted: pa.RecordBatch, sample: pa.Table, size: int, target: int) -> TableStatistics:
    """Make the statistics of a table. counted: the row of `count_query`. sample: the rows of `sample_query`. size: the
    bytes of the table's files.
    """
    answers = iter([column[0] for column in counted.columns])
    rows = int(next(answers).as_py())
    columns = []
    for column, values in zip(of.columns, sample.columns, strict=True):
        made = _Summary(column, rows, values.combine_chunks(), target).make_statistics(answers)
        columns.append(made)
    return TableStatistics(float(rows), math.ceil(size / _PAGE), tuple(columns) if rows else ())


class _Summary:
    """The statistics of one column. rows: the number of the table's rows. values: the column's values in the sample."""

    def __init__(self, column: TableColumn, rows: int, values: pa.Array, target: int) -> None:
        self._column = column
        self._rows = rows
        self._sampled = len(values)
        self._values = values.drop_null()
        self._target = target
        self._whole = self._sampled >= rows

    def make_statistics(self, answers: Iterator[pa.Scalar[Any]]) -> ColumnStatistics:
        """Make the column's statistics. answers: the values of `_counts` for the column are taken from it."""
        pg, number = self._column.type.pg, self._column.number
        present = int(next(answers).as_py())
        nulls = 1 - present / self._rows if self._rows else 0.0
        width = self._width()
        if pg not in _EQUAL:
            return ColumnStatistics(number, pg.oid, nulls, width)
        estimate = int(next(answers).as_py())
        ends = (self._text_of(next(answers)), self._text_of(next(answers))) if pg in _ORDERED else (None, None)
        if not present:
            return ColumnStatistics(number, pg.oid, nulls, width)
        distinct_values, counts = self._count_values()
        distinct = self._distinct(counts, estimate, present)
        common = self._common(counts, distinct, nulls)
        bounds = self._bounds(counts, common) if pg in _ORDERED else np.empty(0, np.int64)
        return ColumnStatistics(
            number, pg.oid, nulls, width, distinct, self._texts(distinct_values, common),
            tuple(float(counts[at]) / self._sampled for at in common), self._texts(distinct_values, bounds), *ends,
        )  # fmt: skip

    def _count_values(self) -> tuple[pa.Array, Counts]:
        """Return the sample's distinct values that are not too wide, in their order, and the number of occurrences of
        each.
        """
        values = self._values
        if pa.types.is_string(values.type):
            values = values.filter(pc.less_equal(pc.binary_length(values), _WIDE))
        found = values.value_counts()
        alone, counts = found.field("values"), found.field("counts").to_numpy()
        order = pc.sort_indices(alone)
        return alone.take(order), counts[order.to_numpy()]

    def _distinct(self, counts: Counts, estimate: int, present: int) -> float:
        """Estimate pg_stats.n_distinct. An estimate above a tenth of the rows is assumed to grow with them."""
        unique = bool(len(counts)) and int(counts.max()) == 1
        part = present / self._rows
        if self._whole:
            found = float(len(counts))
        else:
            found = float(min(max(estimate, len(counts)), present))
            unique = unique and found > 0.9 * present
        if unique:
            return -part
        return -found / self._rows if found > 0.1 * self._rows else found

    def _common(self, counts: Counts, distinct: float, nulls: float) -> Counts:
        """Find the common values, most common first (analyze.c: compute_scalar_stats)."""
        order = np.argsort(-counts, kind="stable")
        tracked = order[counts[order] > 1][: self._target]
        if len(tracked) == len(counts) and distinct > 0:
            return tracked
        return tracked[: self._common_enough(counts[tracked], distinct, nulls)]

    def _common_enough(self, counts: Counts, distinct: float, nulls: float) -> int:
        """Return how many of the values are surely more common than the average of the rest (analyze.c:
        analyze_mcv_list): by two standard deviations of the hypergeometric distribution of a sample's count.
        """
        if self._whole or self._rows <= 1:
            return len(counts)
        values = distinct if distinct > 0 else -distinct * self._rows
        all_rows, sampled = float(self._rows), float(self._sampled)
        number = len(counts)
        above = float(counts[:-1].sum()) if number else 0.0
        while number:
            rest = min(max(1.0 - above / sampled - nulls, 0.0), 1.0)
            others = values - (number - 1)
            if others > 1:
                rest /= others
            expected = all_rows * counts[number - 1] / sampled
            variance = sampled * expected * (all_rows - expected) * (all_rows - sampled)
            deviation = math.sqrt(max(variance / (all_rows * all_rows * (all_rows - 1)), 0.0))
            if counts[number - 1] > rest * sampled + 2 * deviation + 0.5:
                break
            number -= 1
            above -= float(counts[number - 1]) if number else 0.0
        return number

    def _bounds(self, counts: Counts, common: Counts) -> Counts:
        """Find the values that divide those that are not common into parts with equal numbers of rows."""
        rest = np.setdiff1d(np.arange(len(counts)), common)
        bins = min(len(rest), self._target + 1)
        if bins < 2:
            return np.empty(0, np.int64)
        ends = np.cumsum(counts[rest])
        places = np.arange(bins) * (int(ends[-1]) - 1) // (bins - 1)
        return np.asarray(rest[np.searchsorted(ends, places, side="right")], np.int64)

    def _width(self) -> int:
        """Return the average number of bytes of a value as PostgreSQL stores it: texts have a header of one byte, or of
        four.
        """
        typ = self._column.type.pg
        if typ.length > 0:
            return typ.length
        if not len(self._values):
            return 0
        if not (pa.types.is_string(self._values.type) or pa.types.is_binary(self._values.type)):
            return _SOME_WIDTH
        sizes = pc.binary_length(self._values).to_numpy()
        return int(np.mean(sizes + np.where(sizes <= 126, 1, 4)))

    def _texts(self, values: pa.Array, chosen: Counts) -> tuple[str, ...]:
        return _texts(self._column.type, values.take(pa.array(chosen)))

    def _text_of(self, value: pa.Scalar[Any]) -> str | None:
        if not value.is_valid:
            return None
        [text] = _texts(self._column.type, pa.array([value], value.type))
        return text


def _texts(typ: SqlType, values: pa.Array) -> tuple[str, ...]:
    if not len(values):
        return ()
    encoded = EncodedColumn(typ.pg, typ.typmod, typ.display, typ.minimum)
    return tuple(text_column(encoded, values, _SETTINGS).join().cast(pa.utf8()).to_pylist())

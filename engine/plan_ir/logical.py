"""The logical plan: the RFC's aggregators (CockroachDB distributed SQL, "Logical model and logical plans").

Each node consumes logical streams and produces one; a logical plan does not say where, or in how many pieces, a node
runs. Nodes are immutable. Names are the seed's: TABLE READER, EVALUATOR, JOIN, SET OPERATION, AGGREGATOR, SORT, LIMIT,
FINAL, MUTATE.

**Ordering** is not a node at first: `Limit` and `Root` have an ordering *requirement*, readers may have a *guarantee*,
and every node has an ordering *characterisation* (`engine.planner.optimizer.ordering`), from its inputs' guarantees to
its output's. The three stages of `engine.planner.optimizer` preserve orderings, insert `Sort` where a requirement is
not met, and remove sorts that nobody needs.

**Columns** have statement-wide ids; a node's `columns` is its output schema. A node may refer to columns of an enclosing
query (a correlated subquery, a lateral join): those are its free columns (`engine.plan_ir.free_columns`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from engine.catalog.model.objects import PLACEHOLDER
from engine.plan_ir.columnar_rows import ColumnarRows
from engine.plan_ir.expr import AggregateCall, Call, Column, Expr, Node, WindowCall
from engine.plan_ir.shown_columns import EVERYTHING, ShownColumns
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.catalog.model.objects import Constraint, SystemTable, Table, TableColumn
    from engine.plan_ir.part_form import PartForm

#: Columns that a TableReader may read beside its table's own: the file of a row (its path, as in `Table.files`), and the
#: row's number in it, from 0. No user's column has such a name.
FILE = "\0file"
ROW = "\0row"


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of an ordering. PostgreSQL's default is nulls last when ascending, first when descending."""

    column: Column
    descending: bool = False
    nulls_first: bool = False


Ordering = tuple[OrderKey, ...]


@dataclass(frozen=True, slots=True)
class TableReader(Node):
    """TABLE READER: `columns[i]` reads the table's column `names[i]`, or `FILE` or `ROW`. `filter` is applied while
    reading.

    reader: 0 if it reads the whole table; else its number in a physical plan, whose instances read splits
    (`engine.plan_ir.physical`). ranged: whether the splits are ranges of rows rather than whole files. key: if
    instances share files, the column (an integer, date, timestamp or text) whose range decides which rows belong to an
    instance.

    of_files: how many files the table has, if `table` only lists those that may have a row that the filter keeps.
    """

    table: Table | SystemTable
    names: tuple[str, ...]
    filter: Expr | None = None
    guarantee: Ordering = ()
    reader: int = 0
    ranged: bool = False
    key: Column | None = None
    of_files: int | None = None


def names_in_files(columns: Iterable[TableColumn]) -> tuple[str, ...]:
    """Return `TableReader.names` for the columns that a stored table's files are written with. `PLACEHOLDER` is read as
    `ROW`: files that were written before the last column was dropped lack it.
    """
    return tuple(ROW if column == PLACEHOLDER else column.file_column for column in columns)


@dataclass(frozen=True, slots=True)
class Values(Node):
    """Literal rows. One row without columns is a SELECT without FROM."""

    rows: tuple[tuple[Expr, ...], ...] | ColumnarRows


@dataclass(frozen=True, slots=True)
class FunctionScan(Node):
    """Functions in FROM: set-returning or scalar (one row). With several calls (ROWS FROM, unnest of several arrays)
    rows are zipped, the shorter padded with nulls. `ordinality`: the last column counts rows from 1."""

    calls: tuple[Call, ...]
    ordinality: bool = False


@dataclass(frozen=True, slots=True)
class Evaluator(Node):
    """EVALUATOR: keeps the rows for which `filter` is true, then emits one expression per column.

    barrier: no condition from above may be evaluated on rows that this node has not emitted, unless it is leakproof
    (`engine.planner.optimizer.leakproof`); the node is the top of a view with security_barrier.
    """

    input: Node
    emit: tuple[Expr, ...]
    filter: Expr | None = None
    barrier: bool = False

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class ProjectSet(Node):
    """Set-returning functions in a select list: as many rows as the longest set gives, others padded with nulls.
    A set-returning call stands only at the top of an `emit` expression."""

    input: Node
    emit: tuple[Expr, ...]

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


MutateKind = Literal["insert", "update", "delete", "merge"]
JoinKind = Literal["inner", "left", "right", "full", "cross"]


@dataclass(frozen=True, slots=True)
class Join(Node):
    """JOIN: `columns` are the left's, then the right's. `lateral`: the right side refers to the left's columns."""

    kind: JoinKind
    left: Node
    right: Node
    condition: Expr | None = None
    lateral: bool = False

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Aggregator(Node):
    """AGGREGATOR: `columns` are the group key's, then one per aggregate.

    group: the input's columns that form the group key, in the order of `columns`.
    grouping_sets: None, or each set as indexes into `group`; columns outside a set are null in its rows.
    groupings: for GROUPING(...) calls: each a tuple of indexes into `group`; their columns come last.
    filter: the output filter (HAVING), over `columns`.
    DISTINCT is an Aggregator without aggregates.
    """

    input: Node
    group: tuple[Column, ...]
    aggregates: tuple[AggregateCall, ...] = ()
    grouping_sets: tuple[tuple[int, ...], ...] | None = None
    groupings: tuple[tuple[int, ...], ...] = ()
    filter: Expr | None = None

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class DistinctOn(Node):
    """The first row of each group of equal `keys`, by `order` (which begins with the keys, in some order)."""

    input: Node
    keys: tuple[Column, ...]
    order: Ordering

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Window functions: `columns` are the input's, then one per call."""

    input: Node
    calls: tuple[WindowCall, ...]

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class SetOperation(Node):
    """SET OPERATION: the two inputs have the same number of columns and the same types, in order."""

    kind: Literal["union", "intersect", "except"]
    all: bool
    left: Node
    right: Node

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """SORT: a no-grouping aggregator; inserted by the planner, never by the binder."""

    input: Node
    keys: Ordering

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Limit(Node):
    """LIMIT: stops after `count` rows, having skipped `offset`. With neither, it only states a requirement (a
    subquery's ORDER BY). `with_ties`: FETCH FIRST ... WITH TIES. `count` and `offset` are int8 and have no columns.
    """

    input: Node
    count: Expr | None = None
    offset: Expr | None = None
    requirement: Ordering = ()
    with_ties: bool = False

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class With(Node):
    """Common table expressions used more than once (those used once are inlined), then the body that reads them."""

    ctes: tuple[Cte, ...]
    body: Node

    def inputs(self) -> tuple[Node, ...]:
        return (*(plan for c in self.ctes for plan in (c.plan, c.step) if plan is not None), self.body)


@dataclass(frozen=True, slots=True)
class Cte:
    """A common table expression. id: unique in the statement. recursive: `plan` is the non-recursive term and `step`
    the recursive one, whose CteReaders of this id see the previous step's rows.
    """

    id: int
    name: str
    plan: Node
    step: Node | None = None
    union_all: bool = True


@dataclass(frozen=True, slots=True)
class CteReader(Node):
    """Reads a With's cte: `columns[i]` is column i of its plan."""

    cte: int
    name: str


@dataclass(frozen=True, slots=True)
class Root(Node):
    """FINAL: a single-group aggregator on the initiator; it feeds the portal.

    divides_by_zero: whether a division of constants by zero is evaluated
    (`engine.planner.optimizer.constant_divisions`).
    """

    input: Node
    requirement: Ordering = ()
    divides_by_zero: bool = False

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Forbidden:
    """Rows offered by INSERT ... ON CONFLICT that violate NOT NULL or a check, whether or not they are inserted.

    node: returns them; its first columns are the table's. checks: as `Mutate.checks`. order: the order in which they
    were offered.
    """

    node: Node
    checks: tuple[tuple[Constraint, Column], ...]
    order: Ordering


@dataclass(frozen=True, slots=True)
class Mutate(Node):
    """MUTATE: writes rows into a table; its `columns` are RETURNING's, one row for each row that changed.

    The input consists of whole rows. INSERT's are all new. The other kinds are copy on write: files that hold rows to
    be changed are read, and written anew with all of their rows, so the input also has rows that stay unchanged.
    `located` returns these files (one column, `FILE`; None: all files), in the readers that produce one of `targets`.
    The results of a MUTATE are intents (files added, files removed, a row count), which the initiator's collector
    commits.

    rows: the input's columns that are written, as many as the table's and in their order.
    checks: for each CHECK constraint, the input's column that is false where a row violates it.
    changed: true where the row counts as changed, false where it only stays; None: all count.
    dropped: true where the row is not to be written; None: all are written.
    twice: true where the statement would change the row a second time, which is an error.
    again: true where a row is skipped in favour of one before it; at most one of these columns may be true for a row.
    keys: the table's keys, if the statement may violate them; foreign_keys: likewise.
    whole: the result depends on all rows of the table.
    before: columns of keys that an UPDATE may change: the name, and the input's column with the previous value.
    filled: columns of `rows` that take values of a sequence (its OID) as they are written; `passed`: the columns by
        which RETURNING shows them, each with its column of `rows`. fresh: true where a row takes such values; None: all
        do.
    forbidden: rows of which none may exist before anything is done; None: not checked.
    requirement: the order in which rows come. numbered: a column by which RETURNING's rows are ordered, if rows come in
        another order.
    arrival: the column of `requirement` or `numbered`, if it numbers the rows in whatever order they come: each
        instance may then number its rows by itself.
    parts: the format of the rows if they become no table's files, but the parts of a COPY TO in a text format.
    shown: the columns of the table's rows that messages may show; set when the statement runs.
    """

    kind: MutateKind
    table: Table
    input: Node
    rows: tuple[Column, ...]
    checks: tuple[tuple[Constraint, Column], ...] = ()
    changed: Column | None = None
    dropped: Column | None = None
    twice: Column | None = None
    again: tuple[Column, ...] = ()
    located: Node | None = None
    targets: tuple[Column, ...] = ()
    keys: tuple[Constraint, ...] = ()
    foreign_keys: tuple[Constraint, ...] = ()
    whole: bool = False
    filled: tuple[tuple[Column, int], ...] = ()
    passed: tuple[tuple[Column, Column], ...] = ()
    requirement: Ordering = ()
    numbered: Column | None = None
    arrival: Column | None = None
    forbidden: Forbidden | None = None
    before: tuple[tuple[str, Column], ...] = ()
    parts: PartForm | None = None
    fresh: Column | None = None
    shown: ShownColumns = EVERYTHING

    def inputs(self) -> tuple[Node, ...]:
        return (self.input,) if self.located is None else (self.input, self.located)

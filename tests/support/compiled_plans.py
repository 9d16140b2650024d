"""Logical plans with every node and every kind of expression, each with the rows that PostgreSQL 15 returns for it.

Golden tests compile them for both engines; other tests run them on DuckDB and on Spark and compare the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.model.objects import Table
from engine.common.sql_type import SqlType, numeric, of
from engine.plan_ir.expr import (
    And,
    ArrayOf,
    Case,
    Coalesce,
    Column,
    Expr,
    FieldRef,
    Frame,
    FrameBound,
    FrameUnit,
    InList,
    IsDistinct,
    IsNull,
    Node,
    Not,
    Or,
    ParamRef,
    Row,
    Subquery,
    SubqueryKind,
    WindowCall,
)
from engine.plan_ir.logical import (
    Aggregator,
    Cte,
    CteReader,
    DistinctOn,
    Evaluator,
    FunctionScan,
    Join,
    JoinKind,
    Limit,
    ProjectSet,
    Root,
    SetOperation,
    Sort,
    TableReader,
    Values,
    Window,
    With,
)
from support.plans import (
    ADD,
    ARRAY_AGG,
    BOOL,
    COUNT,
    COUNT_OF,
    DIV,
    EQ,
    FLOAT8,
    GE,
    GT,
    INT4,
    INT8,
    LAG,
    LT,
    MEDIAN,
    MUL,
    NE,
    RANDOM,
    ROW_NUMBER,
    SERIES,
    STRING_AGG,
    SUM,
    TEXT,
    UNNEST,
    UPPER,
    Plans,
    agg,
    call,
    const,
    item,
    key,
    ref,
    table,
)
from wire.types import pg_types as t

NATIONS = [
    (1, "ALGERIA", 0),
    (2, "BRAZIL", 1),
    (3, "CHINA", 2),
    (4, "FRANCE", 3),
    (5, "KENYA", 0),
    (6, "NOWHERE", None),
]
REGIONS = [(0, "AFRICA"), (1, "AMERICA"), (2, "ASIA"), (3, "EUROPE"), (4, "EMPTY")]
INT4S = of(t.array_of(t.INT4))
TEXTS = of(t.array_of(t.TEXT))


class Data(Plans):
    """Plans over the two tables, whose files are in `folder`."""

    def __init__(self, folder: str = "/data") -> None:
        super().__init__()
        self.nation = table("nation", [f"{folder}/nation.parquet"], [("id", INT8), ("name", TEXT), ("region", INT8)])
        self.region = table("region", [f"{folder}/region.parquet"], [("id", INT8), ("name", TEXT)])

    def nations(self, **more: Any) -> TableReader:
        return self.read(self.nation, "id", "name", "region", **more)

    def regions(self) -> TableReader:
        return self.read(self.region, "id", "name")

    def joined(self, kind: JoinKind, left: Node, right: Node, condition: Expr | None = None, **more: Any) -> Join:
        return Join(left.columns + right.columns, kind, left, right, condition, **more)

    def nations_of_regions(self, kind: JoinKind = "inner") -> tuple[Join, tuple[Column, ...]]:
        """Return a join of nations with their regions. Its columns: nation id, name, region, region id, name."""
        left, right = self.nations(), self.regions()
        return (join := self.joined(kind, left, right, eq(left.columns[2], right.columns[0]))), join.columns

    def grouped(self, node: Node, group: tuple[Column, ...], *aggregates: Any, **more: Any) -> Aggregator:
        keys = tuple(self.column(c.name, c.type) for c in group)
        results = tuple(self.column("agg", a.type) for a in aggregates)
        groupings = self.columns(*(INT4 for _ in more.get("groupings", ())))
        return Aggregator(keys + results + groupings, node, group, aggregates, **more)

    def windowed(self, node: Node, *calls: WindowCall) -> Window:
        return Window(node.columns + self.columns(*(c.type for c in calls)), node, calls)


def eq(left: Column, right: Column) -> Expr:
    return call(EQ, ref(left), ref(right))


def write_tables(folder: Path) -> None:
    ids, names, regions = zip(*NATIONS, strict=True)
    pq.write_table(pa.table({"id": ids, "name": names, "region": regions}), folder / "nation.parquet")
    ids, names = zip(*REGIONS, strict=True)
    pq.write_table(pa.table({"id": ids, "name": names}), folder / "region.parquet")


@dataclass(frozen=True)
class PlanCase:
    """A plan with its expected result. rows: the rows that PostgreSQL returns, in order where `ordered`. lacking: the
    engine that has to refuse the plan.
    """

    build: Callable[[Data], Node]
    rows: list[tuple[Any, ...]]
    ordered: bool = False
    lacking: str = ""


CASES: dict[str, PlanCase] = {}


def case(
    rows: list[tuple[Any, ...]], *, ordered: bool = False, lacking: str = ""
) -> Callable[[Callable[[Data], Node]], Callable[[Data], Node]]:
    def register(build: Callable[[Data], Node]) -> Callable[[Data], Node]:
        CASES[build.__name__] = PlanCase(build, rows, ordered, lacking)
        return build

    return register


# -- readers, evaluators --------------------------------------------------------------------------------------------


@case([("CHINA", 3), ("FRANCE", 4)])
def read_with_filter(d: Data) -> Node:
    reader = d.nations()
    reader = replace(reader, filter=call(GE, ref(reader.columns[2]), const(2)))
    return d.emit(reader, ref(reader.columns[1]), ref(reader.columns[0]))


@case([(2,), (4,)])
def evaluators_become_one_select(d: Data) -> Node:
    reader = d.nations()
    inner = d.emit(
        reader, call(ADD, ref(reader.columns[0]), const(1)), where=call(LT, ref(reader.columns[0]), const(4))
    )
    return d.emit(inner, ref(inner.columns[0]), where=call(NE, ref(inner.columns[0]), const(3)))


@case([(4, 4), (9, 9)])
def computed_twice_becomes_a_derived_table(d: Data) -> Node:
    values = d.values([1], [2])
    inner = d.emit(values, call(ADD, ref(values.columns[0]), const(1)))
    squared = call(MUL, ref(inner.columns[0]), ref(inner.columns[0]))
    return d.emit(inner, squared, squared)


@case([(3,), (4,), (5,), (6,)])
def no_condition_is_brought_into_a_barrier(d: Data) -> Node:
    """The second condition fails for a row that the first condition removes."""
    reader = d.nations()
    view = replace(
        d.emit(reader, ref(reader.columns[0]), where=call(GT, ref(reader.columns[0]), const(2))), barrier=True
    )
    divided = call(DIV, const(9), call(ADD, ref(view.columns[0]), const(-1)))
    return d.emit(view, ref(view.columns[0]), where=call(GT, divided, const(0)))


@case([(True,)])
def volatile_is_computed_once(d: Data) -> Node:
    drawn = d.emit(Values((), ((),)), call(RANDOM))
    return d.emit(drawn, call(EQ, ref(drawn.columns[0]), ref(drawn.columns[0])))


@case([("x", True, None, 5, 7, [1, 2], True)])
def every_small_expression(d: Data) -> Node:
    return d.emit(
        Values((), ((),)),
        Case(TEXT, ((call(GT, const(2), const(1)), const("x", TEXT)),), const("y", TEXT)),
        Or(
            BOOL,
            (And(BOOL, (const(True, BOOL), const(False, BOOL))), Not(BOOL, IsNull(BOOL, const(1))), const(True, BOOL)),
        ),
        Case(INT4, ((const(None, BOOL), const(1)),), None),
        Coalesce(INT4, (const(None), const(5))),
        FieldRef(INT4, Row(_record(INT4, TEXT), (const(7), const("z", TEXT))), 0),
        ArrayOf(INT4S, (const(1), const(2))),
        IsDistinct(BOOL, const(None), const(1)),
    )


def _record(*types: SqlType) -> SqlType:
    return SqlType(t.RECORD, fields=tuple((f"f{i}", typ) for i, typ in enumerate(types, 1)))


@case([(True, None, True, None)])
def in_lists_with_nulls(d: Data) -> Node:
    row = Row(_record(INT4, INT4), (const(1), const(2)))
    other = Row(_record(INT4, INT4), (const(1), const(None)))
    return d.emit(
        Values((), ((),)),
        InList(BOOL, const(1), (const(None), const(1))),
        InList(BOOL, const(1), (const(None), const(2))),
        InList(BOOL, row, (other, row)),
        InList(BOOL, row, (other,)),
    )


@case([(True, True, False)])
def bpchar_compares_without_trailing_blanks(d: Data) -> Node:
    bpchar = of(t.BPCHAR)
    return d.emit(
        Values((), ((),)),
        InList(BOOL, const("a  ", bpchar), (const("a", bpchar),)),
        IsDistinct(BOOL, const("a  ", bpchar), const("a", bpchar), negated=True),
        IsDistinct(BOOL, const("a  ", bpchar), const("a", bpchar)),
    )


@case([(True, False, False, False)])
def null_tests_of_records(d: Data) -> Node:
    nulls = Row(_record(INT4, INT4), (const(None), const(None)))
    mixed = Row(_record(INT4, INT4), (const(None), const(1)))
    tests = [IsNull(BOOL, r, negated) for r in (nulls, mixed) for negated in (False, True)]
    return d.emit(Values((), ((),)), *tests)


# -- joins ----------------------------------------------------------------------------------------------------------


@case([("ALGERIA", "AFRICA"), ("BRAZIL", "AMERICA"), ("CHINA", "ASIA"), ("FRANCE", "EUROPE"), ("KENYA", "AFRICA")])
def inner_join(d: Data) -> Node:
    join, c = d.nations_of_regions()
    return d.emit(join, ref(c[1]), ref(c[4]))


@case([("NOWHERE", None), ("KENYA", "AFRICA")])
def left_join_with_filters(d: Data) -> Node:
    join, c = d.nations_of_regions("left")
    return d.emit(join, ref(c[1]), ref(c[4]), where=call(GE, ref(c[0]), const(5)))


@case([(None, "EMPTY"), ("FRANCE", "EUROPE")])
def right_join(d: Data) -> Node:
    join, c = d.nations_of_regions("right")
    return d.emit(join, ref(c[1]), ref(c[4]), where=call(GE, ref(c[3]), const(3)))


@case([("NOWHERE", None), (None, "EMPTY"), ("FRANCE", "EUROPE")])
def full_join(d: Data) -> Node:
    join, c = d.nations_of_regions("full")
    test = Or(BOOL, (IsNull(BOOL, ref(c[3])), call(GE, ref(c[3]), const(3))))
    return d.emit(join, ref(c[1]), ref(c[4]), where=test)


@case([(4, None), (5, None), (6, None), (1, 1), (2, 1), (3, None)])
def null_supplying_side_gives_nulls(d: Data) -> Node:
    """A constant computed on the right side must be null where no row matches."""
    left, right = d.nations(), d.regions()
    marked = d.emit(right, ref(right.columns[0]), const(1), where=call(LT, ref(right.columns[0]), const(3)))
    condition = And(BOOL, (eq(left.columns[0], marked.columns[0]), call(LT, ref(left.columns[0]), const(3))))
    join = d.joined("left", left, marked, condition)
    return d.emit(join, ref(left.columns[0]), ref(marked.columns[1]))


@case([("AFRICA", 2), ("AMERICA", 1), ("ASIA", 1), ("EUROPE", 1), ("EMPTY", 0)])
def lateral_join(d: Data) -> Node:
    regions, nations = d.regions(), d.nations()
    own = d.emit(nations, ref(nations.columns[0]), where=eq(nations.columns[2], regions.columns[0]))
    counted = d.grouped(own, (), agg(COUNT))
    join = d.joined("cross", regions, counted, lateral=True)
    return d.emit(join, ref(regions.columns[1]), ref(counted.columns[0]))


@case([(0, None), (1, 1), (2, 1), (2, 2)])
def lateral_left_join_of_a_set(d: Data) -> Node:
    values = d.values([0], [1], [2])
    series = FunctionScan(d.columns(INT4), (call(_UPTO, const(1), ref(values.columns[0])),))
    return d.joined("left", values, series, const(True, BOOL), lateral=True)


@case([(0, None), (1, None), (2, 2)])
def lateral_left_join_with_a_condition(d: Data) -> Node:
    values = d.values([0], [1], [2])
    series = FunctionScan(d.columns(INT4), (call(_UPTO, const(1), ref(values.columns[0])),))
    both = And(BOOL, (eq(series.columns[0], values.columns[0]), call(GT, ref(values.columns[0]), const(1))))
    return d.joined("left", values, series, both, lateral=True)


#: generate_series that gives nothing when it would count down, in both engines.
_UPTO = replace(
    SERIES,
    name="upto",
    spark="CASE WHEN $1 <= $2 THEN sequence($1, $2) ELSE CAST(array() AS ARRAY<INT>) END",
)


# -- subqueries -----------------------------------------------------------------------------------------------------


@case([("EMPTY", 0), ("AFRICA", 2), ("AMERICA", 1), ("ASIA", 1), ("EUROPE", 1)])
def correlated_scalar_subquery(d: Data) -> Node:
    regions, nations = d.regions(), d.nations()
    own = d.emit(nations, where=eq(nations.columns[2], regions.columns[0]))
    counted = d.grouped(own, (), agg(COUNT))
    return d.emit(regions, ref(regions.columns[1]), Subquery(INT8, SubqueryKind.SCALAR, counted))


@case([("EMPTY",)])
def not_exists(d: Data) -> Node:
    regions, nations = d.regions(), d.nations()
    own = d.emit(nations, where=eq(nations.columns[2], regions.columns[0]))
    return d.emit(regions, ref(regions.columns[1]), where=Not(BOOL, Subquery(BOOL, SubqueryKind.EXISTS, own)))


@case([])
def not_in_with_null(d: Data) -> Node:
    regions, nations = d.regions(), d.nations()
    member = Subquery(BOOL, SubqueryKind.IN, d.emit(nations, ref(nations.columns[2])), (ref(regions.columns[0]),))
    return d.emit(regions, ref(regions.columns[1]), where=Not(BOOL, member))


@case([(2,)])
def not_in_beside_or(d: Data) -> Node:
    """NOT IN that evaluates to unknown must not count as true, wherever it stands."""
    values = d.values([1], [2], [3])
    x = ref(values.columns[0])
    member = Subquery(BOOL, SubqueryKind.IN, d.values([1], [None]), (x,))
    return d.emit(values, x, where=Or(BOOL, (Not(BOOL, member), call(EQ, x, const(2)))))


@case([(1, True, None), (2, None, None), (3, None, True)])
def rows_in_subquery(d: Data) -> Node:
    values = d.values([1], [2], [3])
    pairs = d.values([1, 1], [2, None], [None, 3])
    other = d.values([3, 3], [None, None])
    x = ref(values.columns[0])
    return d.emit(values, x, *(Subquery(BOOL, SubqueryKind.IN, plan, (x, x)) for plan in (pairs, other)))


@case([(1, False, None, True), (2, True, None, True), (4, True, True, True)])
def quantified_comparisons(d: Data) -> Node:
    values, some, none = d.values([1], [2], [4]), d.values([1], [3], [None]), d.values([1], [3])
    x = ref(values.columns[0])
    greater_some = Subquery(BOOL, SubqueryKind.IN, some, (x,), operator=GT)
    less_than_null = Subquery(BOOL, SubqueryKind.IN, d.values([3], [None]), (x,), operator=GT)
    empty = d.emit(none, ref(none.columns[0]), where=const(False, BOOL))
    all_of_none = Subquery(BOOL, SubqueryKind.IN, empty, (x,), operator=GT, quantifier="all")
    return d.emit(
        values, x, Case(BOOL, ((call(EQ, x, const(1)), const(False, BOOL)),), greater_some), less_than_null, all_of_none
    )


@case([(4,)])
def quantified_in_where(d: Data) -> Node:
    values = d.values([1], [3], [4])
    test = Subquery(BOOL, SubqueryKind.IN, d.values([3], [None]), (ref(values.columns[0]),), operator=GT)
    return d.emit(values, ref(values.columns[0]), where=test)


@case([(4, True), (3, None), (1, False)])
def all_with_nulls(d: Data) -> Node:
    values = d.values([1], [3], [4])
    x = ref(values.columns[0])
    threes, with_null = d.values([3], [2]), d.values([2], [None])
    tested = Subquery(BOOL, SubqueryKind.IN, with_null, (x,), operator=GE, quantifier="all")
    plain = Subquery(BOOL, SubqueryKind.IN, threes, (x,), operator=GT, quantifier="all")
    return d.emit(values, x, Case(BOOL, ((call(EQ, x, const(3)), tested),), plain))


@case([("AFRICA", ["ALGERIA", "KENYA"]), ("EMPTY", [])])
def array_subquery(d: Data) -> Node:
    regions, nations = d.regions(), d.nations()
    own = d.emit(nations, ref(nations.columns[1]), where=eq(nations.columns[2], regions.columns[0]))
    gathered = Subquery(TEXTS, SubqueryKind.ARRAY, own)
    return d.emit(
        regions, ref(regions.columns[1]), gathered, where=InList(BOOL, ref(regions.columns[0]), (const(0), const(4)))
    )


# -- aggregation ----------------------------------------------------------------------------------------------------


@case([(0, 2, 6), (1, 1, 2), (2, 1, 3), (3, 1, 4), (None, 1, 6)], ordered=True)
def group_by_order_by(d: Data) -> Node:
    nations = d.nations()
    grouped = d.grouped(nations, (nations.columns[2],), agg(COUNT), agg(SUM, ref(nations.columns[0])))
    return Root(grouped.columns, grouped, (key(grouped.columns[0]),))


@case([(0, 4)])
def having_and_expressions_of_aggregates(d: Data) -> Node:
    nations = d.nations()
    grouped = d.grouped(nations, (nations.columns[2],), agg(COUNT))
    grouped = replace(grouped, filter=call(GT, ref(grouped.columns[1]), const(1)))
    return d.emit(grouped, ref(grouped.columns[0]), call(MUL, ref(grouped.columns[1]), const(2)))


@case([(6, 5, 3, 1)])
def filter_and_distinct(d: Data) -> Node:
    nations = d.nations()
    id_, _, region = (ref(c) for c in nations.columns)
    return d.grouped(
        nations,
        (),
        agg(COUNT),
        agg(COUNT_OF, region),
        agg(COUNT, filter=call(LT, id_, const(4))),
        agg(COUNT_OF, region, distinct=True, filter=InList(BOOL, id_, (const(1), const(5), const(6)))),
    )


@case([(["KENYA", "FRANCE"], "KENYA;FRANCE", 4)])
def ordered_aggregates(d: Data) -> Node:
    nations = d.nations()
    id_, name, _ = (ref(c) for c in nations.columns)
    later = InList(BOOL, id_, (const(4), const(5)))
    return d.grouped(
        nations,
        (),
        agg(ARRAY_AGG, name, typ=TEXTS, order_by=(item(id_, descending=True),), filter=later),
        agg(STRING_AGG, name, const(";", TEXT), order_by=(item(id_, descending=True),), filter=later),
        agg(MEDIAN, const(0.5, FLOAT8), typ=INT8, order_by=(item(id_, descending=True),)),
    )


@case([([6, 5, 4],)])
def aggregate_listens_to_its_input(d: Data) -> Node:
    nations = d.nations()
    id_ = nations.columns[0]
    first = Limit((id_,), nations, const(3, INT8), None, (key(id_, descending=True),))
    return d.grouped(first, (), agg(ARRAY_AGG, ref(id_), typ=of(t.array_of(t.INT8))))


@case([(0, "A", 1, 0), (0, None, 1, 1), (None, None, 1, 3), (None, "A", 1, 2)])
def grouping_sets(d: Data) -> Node:
    values = d.values([0, "A"])
    c = values.columns
    return d.grouped(values, c, agg(COUNT), grouping_sets=((0, 1), (0,), (), (1,)), groupings=((0, 1),))


@case([(1, 2), (2, 2)])
def constants_as_group_keys(d: Data) -> Node:
    values = d.values([1], [1], [2], [2])
    keyed = d.emit(values, const("k", TEXT), ref(values.columns[0]))
    grouped = d.grouped(keyed, keyed.columns, agg(COUNT))
    return d.emit(grouped, ref(grouped.columns[1]), ref(grouped.columns[2]))


@case([(0, "x")])
def aggregate_of_nothing(d: Data) -> Node:
    values = d.values([1])
    none = d.emit(values, ref(values.columns[0]), where=const(False, BOOL))
    grouped = d.grouped(none, (), agg(COUNT))
    return d.emit(grouped, ref(grouped.columns[0]), const("x", TEXT))


@case([("one",)])
def having_without_aggregates(d: Data) -> Node:
    none = d.emit(d.values([1]), where=const(False, BOOL))
    return d.emit(Aggregator((), none, ()), const("one", TEXT))


@case([("a", 2)])
def bpchar_groups_without_trailing_blanks(d: Data) -> Node:
    values = d.values(["a"], ["a "], types=[of(t.BPCHAR)])
    grouped = d.grouped(values, values.columns, agg(COUNT))
    short = Case(TEXT, ((InList(BOOL, ref(grouped.columns[0]), (const("a", of(t.BPCHAR)),)), const("a", TEXT)),), None)
    return d.emit(grouped, short, ref(grouped.columns[1]))


@case([("AFRICA", 1), ("AMERICA", 2), ("ASIA", 3), ("EUROPE", 4)], ordered=True)
def distinct_on(d: Data) -> Node:
    join, c = d.nations_of_regions()
    rows = DistinctOn(c, join, (c[4],), (key(c[4]), key(c[0])))
    emitted = d.emit(rows, ref(c[4]), ref(c[0]))
    return Root(emitted.columns, emitted, (key(emitted.columns[0]),))


# -- windows --------------------------------------------------------------------------------------------------------


@case([("ALGERIA", 1, 1, None), ("KENYA", 2, 6, 1)])
def windows(d: Data) -> Node:
    nations = d.nations()
    id_, name, region = (ref(c) for c in nations.columns)
    order = (item(id_),)
    frame = Frame(FrameUnit.ROWS, FrameBound("preceding", const(1, INT8)), FrameBound("current row"))
    window = d.windowed(
        nations,
        WindowCall(INT8, call(ROW_NUMBER), (region,), order, None),
        WindowCall(INT8, agg(SUM, id_), (region,), order, frame),
        WindowCall(INT8, call(LAG, id_, typ=INT8), (region,), order, None),
    )
    c = window.columns
    return d.emit(window, name, ref(c[3]), ref(c[4]), ref(c[5]), where=call(EQ, region, const(0)))


@case([(1, 3), (2, 3), (2, 3)])
def window_without_order(d: Data) -> Node:
    values = d.values([1], [2], [2])
    numbered = d.windowed(values, WindowCall(INT8, agg(COUNT), (), (), None))
    return numbered


@case([(3, 2), (3, 2), (2, 0)])
def window_filter(d: Data) -> Node:
    values = d.values([3], [3], [2])
    x = ref(values.columns[0])
    counted = agg(COUNT, filter=call(EQ, x, const(3)))
    return d.windowed(values, WindowCall(INT8, counted, (x,), (), None))


@case([("c", 1, "a"), ("b", 2, "a"), ("a", 3, "a")])
def windows_over_an_ordered_subquery(d: Data) -> Node:
    values = d.values(["b", 2], ["c", 1], ["a", 3])
    name, rank = values.columns
    ordered = Limit(values.columns, values, None, None, (key(rank),))
    last = replace(LAG, name="last_value", local="last_value($1)", spark="last_value($1)")
    window = d.windowed(
        ordered,
        WindowCall(INT8, call(ROW_NUMBER), (), (), None),
        WindowCall(TEXT, call(last, ref(name), typ=TEXT), (), (), None),
    )
    return d.emit(window, ref(name), ref(window.columns[2]), ref(window.columns[3]))


@case([(1, 3), (2, 5), (3, 3)], lacking="spark")
def window_groups(d: Data) -> Node:
    values = d.values([1], [2], [3])
    x = ref(values.columns[0])
    frame = Frame(FrameUnit.GROUPS, FrameBound("current row"), FrameBound("following", const(1, INT8)))
    return d.windowed(values, WindowCall(INT8, agg(SUM, x), (), (item(x),), frame))


# -- order and limits -----------------------------------------------------------------------------------------------


@case([(None,), (3,), (2,)], ordered=True)
def limit_with_order(d: Data) -> Node:
    nations = d.nations()
    region = nations.columns[2]
    return Limit((region,), nations, const(3, INT8), None, (key(region, descending=True),))


@case([(2,), (3,)], ordered=True)
def limit_and_offset_by_parameters(d: Data) -> Node:
    nations = d.nations()
    id_ = nations.columns[0]
    return Limit((id_,), nations, ParamRef(INT8, 1), ParamRef(INT8, 2), (key(id_),))


@case([(2,), (2,), (2,)], ordered=True)
def limit_with_ties(d: Data) -> Node:
    values = d.values([3], [2], [2], [1], [2])
    x = values.columns[0]
    return Limit((x,), values, const(1, INT8), const(1, INT8), (key(x),), with_ties=True)


@case([(3,), (6,)], ordered=True)
def order_survives_an_evaluator_above_a_limit(d: Data) -> Node:
    values = d.values([2], [1], [3])
    x = values.columns[0]
    first = Limit((x,), values, const(2, INT8), None, (key(x),))
    emitted = d.emit(first, call(MUL, ref(x), const(3)))
    return emitted


@case([("B",), ("A",), ("a",)], ordered=True)
def sort_by_what_is_not_shown(d: Data) -> Node:
    values = d.values(["a", 3], ["A", 2], ["B", 1])
    ordered = Sort(values.columns, values, (key(values.columns[1]),))
    return Root(values.columns[:1], ordered, (key(values.columns[1]),))


@case([("A",), ("B",), ("a",), (None,)], ordered=True)
def text_sorts_by_bytes(d: Data) -> Node:
    values = d.values(["a"], [None], ["B"], ["A"], types=[TEXT])
    return Root(values.columns, values, (key(values.columns[0]),))


# -- sets, functions in FROM ----------------------------------------------------------------------------------------


@case([(1,), (2,), (2,), (3,)])
def union_all_chain(d: Data) -> Node:
    parts = [d.values([1]), d.values([2]), d.values([2], [3])]
    node: Node = parts[0]
    for part in parts[1:]:
        node = SetOperation(d.columns(INT4), "union", True, node, part)
    return node


@case([(1,), (2,)])
def intersect_binds_tighter(d: Data) -> Node:
    both = SetOperation(d.columns(INT4), "union", False, d.values([1], [2]), d.values([2], [9]))
    return SetOperation(d.columns(INT4), "intersect", True, both, d.values([1], [2], [2]))


@case([(2,), (None,)])
def except_all(d: Data) -> Node:
    return SetOperation(d.columns(INT4), "except", True, d.values([2], [2], [None], [None]), d.values([2], [None]))


@case([("1.50",), ("2.125",)])
def set_operation_unites_digits(d: Data) -> Node:
    from decimal import Decimal

    two, three = numeric(3, 2), numeric(4, 3)
    left, right = d.values([Decimal("1.50")], types=[two]), d.values([Decimal("2.125")], types=[three])
    union = SetOperation(d.columns(three), "union", False, left, right)
    less = Case(TEXT, ((call(LT, ref(union.columns[0]), const(2)), const("1.50", TEXT)),), const("2.125", TEXT))
    return d.emit(union, less)


@case([(10, 1), (20, 2)])
def union_inside_a_query(d: Data) -> Node:
    union = SetOperation(d.columns(INT4, INT4), "union", True, d.values([1, 10]), d.values([2, 20]))
    return d.emit(union, ref(union.columns[1]), ref(union.columns[0]))


@case([(1,), (2,), (3,)])
def series_of_constants(d: Data) -> Node:
    return FunctionScan(d.columns(INT4), (call(SERIES, const(1), const(3)),))


@case([(1, 1, 1), (2, 2, 2), (None, 3, 3)])
def zipped_with_ordinality(d: Data) -> Node:
    calls = (call(SERIES, const(1), const(2)), call(SERIES, const(1), const(3)))
    return FunctionScan(d.columns(INT4, INT4, INT8), calls, ordinality=True)


@case([("B",)])
def scalar_function_in_from(d: Data) -> Node:
    return FunctionScan(d.columns(TEXT), (call(UPPER, const("b", TEXT)),))


@case([(7, 1), (8, 2)])
def unnest_of_an_array(d: Data) -> Node:
    array = ArrayOf(INT4S, (const(7), const(8)))
    return FunctionScan(d.columns(INT4, INT8), (call(UNNEST, array, typ=INT4),), ordinality=True)


@case([(1, 1, "x"), (2, None, "x"), (1, 1, "y")])
def sets_in_the_select_list(d: Data) -> Node:
    values = d.values(["x", 2], ["y", 1])
    name, upto = (ref(c) for c in values.columns)
    columns = d.columns(INT4, INT4, TEXT)
    return ProjectSet(columns, values, (call(SERIES, const(1), upto), call(SERIES, const(1), const(1)), name))


@case([(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)], ordered=True)
def sets_over_rows_in_order(d: Data) -> Node:
    """The rows that a set-returning function makes of one input row are equal in the required sort order."""
    values = d.values([3], [1], [2])
    key_ = values.columns[0]
    in_order = Limit((key_,), values, requirement=(key(key_),))
    (numbers, passed) = d.columns(INT4, INT4)
    sets = ProjectSet(
        (numbers, passed), Sort((key_,), in_order, (key(key_),)), (call(SERIES, const(1), const(2)), ref(key_))
    )
    return Root((numbers, passed), sets, (key(passed),))


# -- common table expressions ---------------------------------------------------------------------------------------


@case([("AFRICA", 1), ("AFRICA", 5)])
def cte_used_twice(d: Data) -> Node:
    join, c = d.nations_of_regions()
    africa = d.emit(join, ref(c[4]), ref(c[0]), where=call(EQ, ref(c[4]), const("AFRICA", TEXT)))
    one, two = (CteReader(d.columns(TEXT, INT8), 1, "africa") for _ in range(2))
    body = d.emit(
        d.joined("inner", one, two, eq(one.columns[1], two.columns[1])), ref(one.columns[0]), ref(two.columns[1])
    )
    return With(body.columns, (Cte(1, "africa", africa),), body)


@case([(1,), (2,), (3,), (4,)])
def recursive_cte(d: Data) -> Node:
    base = d.values([1])
    previous = CteReader(d.columns(INT4), 2, "n")
    below = call(LT, ref(previous.columns[0]), const(4))
    step = d.emit(previous, call(ADD, ref(previous.columns[0]), const(1)), where=below)
    reader = CteReader(d.columns(INT4), 2, "n")
    return With(reader.columns, (Cte(2, "n", base, step, union_all=True),), reader)


@case([(0,), (1,), (2,)], lacking="spark")
def recursive_cte_distinct(d: Data) -> Node:
    base = d.values([0])
    previous = CteReader(d.columns(INT4), 3, "n")
    next_ = call(ADD, ref(previous.columns[0]), const(1))
    step = d.emit(previous, Case(INT4, ((call(GT, next_, const(2)), const(0)),), next_))
    reader = CteReader(d.columns(INT4), 3, "n")
    return With(reader.columns, (Cte(3, "n", base, step, union_all=False),), reader)


@case([(1,), (2,)])
def cte_inside_a_subquery(d: Data) -> Node:
    values = d.values([1], [2], [9])
    members = d.values([1], [2])
    one, two = (CteReader(d.columns(INT4), 4, "m") for _ in range(2))
    body = d.emit(d.joined("inner", one, two, eq(one.columns[0], two.columns[0])), ref(one.columns[0]))
    member = Subquery(
        BOOL, SubqueryKind.IN, With(body.columns, (Cte(4, "m", members),), body), (ref(values.columns[0]),)
    )
    return d.emit(values, ref(values.columns[0]), where=member)


@case([(0, 0, 1), (1, 1, 1)])
def empty_table_and_division(d: Data) -> Node:
    nothing = Table(1, "public", "nothing", d.region.columns, "parquet", "/none", ())
    reader = d.read(nothing, "id")
    counted = d.grouped(reader, (), agg(COUNT))
    values = d.values([0], [1])
    join: Evaluator | Join = d.joined("cross", values, counted)
    zero = ref(counted.columns[0])
    x = ref(values.columns[0])
    return d.emit(join, x, call(ADD, x, zero), call(DIV, const(1), const(1)))

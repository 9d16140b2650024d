"""Distributed plans that run in one process: tables in files, a catalog of them, and the comparison of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from engine.catalog.model.objects import FileFormat, Table
from engine.executors.local.database import LocalDatabase
from engine.executors.local.errors import translate
from engine.lakes.infer import infer_columns
from engine.pg_catalog.fixed_catalog import FixedCatalog
from engine.plan_ir.logical import Root
from engine.plan_ir.physical import Fragment, Instance, PhysicalPlan
from engine.planner.codegen import Bindings
from engine.planner.distribute import Setting, distribute
from engine.planner.planner import optimise
from engine.sql.binder import bind_query
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from support.answers import Answer, differences
from support.physical_runner import PhysicalRunner
from wire.errors import SqlError
from wire.types.text_settings import InputSettings

MEMBERS = ("a", "b", "c")
#: What a session would tell.
CONTEXT = {"now": 1_700_000_000_000_000, "statement_timestamp": 1_700_000_000_000_000, "current_user": "me"}


@dataclass(frozen=True)
class Layout:
    """Tables in files, with queries planned from member a. pinned: assigns files to members. By default no table is too
    small to be repartitioned by hash.
    """

    tables: dict[str, Table]
    mirror_limit: int = 0
    pinned: dict[str, str] = field(default_factory=dict)
    members: tuple[str, ...] = MEMBERS
    gather_limit: int = 0

    def plan(self, text: str) -> Root:
        """Return the optimised plan of one query. Raises SqlError."""
        (query,) = parse(text)
        assert isinstance(query, Query)
        context = BindContext(FixedCatalog(self.tables), ("public",), InputSettings(), ParameterTypes(()))
        return optimise(bind_query(query, context).plan)

    def setting(self) -> Setting:
        return Setting(self.members, "a", self.pinned, mirror_limit=self.mirror_limit, gather_limit=self.gather_limit)

    def distributed(self, text: str) -> PhysicalPlan:
        return distribute(self.plan(text), self.setting(), "it is asked for")


def table(name: str, files: Sequence[str], file_format: FileFormat = "parquet", **options: str) -> Table:
    """Return a table over files, with the columns of the first file."""
    columns = infer_columns(tuple(files), file_format, options)
    return Table(20_000 + sum(map(ord, name)), "public", name, columns, file_format, files[0], tuple(files), 1, options)


def on_one(plan: Root) -> PhysicalPlan:
    """Return the plan as one fragment, which reads whole tables."""
    return PhysicalPlan("a", (Fragment(1, plan, (Instance("a"),)),), (), "")


def answer(plan: PhysicalPlan, final: Root, database: LocalDatabase, parameters: Sequence[Any] = ()) -> Answer:
    """Run a physical plan. Returns its answer: an SQLSTATE, or rows as text."""
    bindings = Bindings(dict(enumerate(parameters, 1)), CONTEXT)
    try:
        rows = PhysicalRunner(database).run(plan, bindings)
    except SqlError as error:
        return Answer(error.sqlstate)
    except duckdb.Error as error:
        return Answer(translate(error, "").sqlstate)
    columns = tuple((c.name, c.type.pg.oid) for c in final.columns)
    return Answer(None, columns, tuple(zip(*(_texts(column) for column in rows.columns), strict=True)))


def same(layout: Layout, database: LocalDatabase, text: str) -> PhysicalPlan:
    """Run a query both distributed and as one fragment, and assert that the answers are the same. Returns the physical
    plan.
    """
    physical = layout.distributed(text)
    answers_alike(layout, database, text, physical)
    return physical


def answers_alike(layout: Layout, database: LocalDatabase, text: str, physical: PhysicalPlan) -> None:
    """Assert that a physical plan gives the same answer as the query run as one fragment."""
    plan = layout.plan(text)
    different = differences(answer(on_one(plan), plan, database), answer(physical, plan, database), False)
    assert different is None, f"{text}\n{different}"


def _texts(column: Any) -> list[str | None]:
    if pa.types.is_date(column.type) or pa.types.is_time(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return [None if value is None else str(value) for value in column.to_pylist()]

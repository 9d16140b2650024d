"""Checks of FOREIGN KEY constraints, after a statement's rows have been recorded: they read the session's own view of
the catalog, in which a table that references itself has its new rows already (ri_triggers.c).

New rows of the referencing table must reference a key that exists. When a key disappears from the referenced table,
because its row was deleted or has another key now, no row may reference it: the statement fails, or it also deletes the
referencing rows, or it sets their columns to null or to their defaults. The latter is done by an internal statement,
which is checked like any other.

The checks are queries over files: the statement's new files against the other table, its removed files and its new ones
against each other. Like unique keys, foreign keys are checked at the end of the statement; deferred ones are checked
later, for the whole table (`engine.statements.dml.deferred`).

The commit detects what other transactions do meanwhile, because the checks make it depend on the other table: a row
that references a key depends on the files that may hold the key, a key that disappears depends on the whole table that
might reference it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import Constraint, KeyAction, Table
from engine.plan_ir.logical import Mutate, Root
from engine.planner.optimizer.pruning import files_passing, with_files
from engine.sql.binder import bind_query
from engine.sql.binder.scope import BindContext
from engine.sql.parser.nodes.statements import Assignment, Delete, MutationStatement, Query, Update
from engine.statements.dml.cascade import MOVED, Pairs, as_table, follow, is_told, left
from engine.statements.dml.intents import Intents
from engine.statements.dml.unique import overlap
from engine.statements.shared import plan_files as names
from engine.statements.shared.named_tables import NamedTables, table_reference
from engine.writers.violations import half_null_key, no_such_key, still_referenced
from wire.errors import FeatureNotSupported, ForeignKeyViolation
from wire.types.text_settings import InputSettings

if TYPE_CHECKING:
    from engine.statements.dml.key_context import KeyContext

_NEW, _OLD, _OTHER = "new", "old", "other"
#: No user's column has such a name.
_COUNT = "\0count"


async def judge(plan: Mutate, intents: Intents, moved: Sequence[pa.RecordBatch], ground: KeyContext) -> None:
    """Check foreign keys after a statement whose changes are recorded, and apply the actions CASCADE, SET NULL and SET
    DEFAULT. moved: the changed keys, if an action depends on them. Raises ForeignKeyViolation.
    """
    for constraint in plan.foreign_keys if intents.added else ():
        if ground.postpones(constraint, "new"):
            continue
        await _judge_new(plan.table, constraint, intents, ground)
    if intents.removed:
        for child, constraint in referencing_keys(ground.tables(), plan.table):
            if _may_lose(plan, constraint) and not (
                _is_left(plan, constraint) and ground.postpones(constraint, "gone")
            ):
                await _judge_gone(plan, child, constraint, intents, moved, ground)


def referencing_keys(tables: Sequence[Table], there: Table) -> Iterator[tuple[Table, Constraint]]:
    """Yield the foreign keys that reference a table."""
    for table in tables:
        for constraint in table.constraints:
            if constraint.references is not None and constraint.references.table == there.oid:
                yield table, constraint


def pairs_of(constraint: Constraint, there: Table) -> Pairs:
    """Return a foreign key's columns, each with the column that it references. there: the referenced table."""
    assert constraint.references is not None
    called = {column.number: column.name for column in there.columns}
    return [(own, called[n]) for own, n in zip(constraint.columns, constraint.references.columns, strict=True)]


# -- new rows ---------------------------------------------------------------------------------------------------------


async def _judge_new(table: Table, constraint: Constraint, intents: Intents, ground: KeyContext) -> None:
    assert constraint.references is not None
    oid = constraint.references.table
    there = await ground.refresh(next(other for other in ground.tables() if other.oid == oid))
    added = [names.absolute(table, file.path) for file in intents.added]
    new = _some(table, added)
    if constraint.references.full and await _fetch_first(
        {_NEW: new}, half_null(table_reference(_NEW), constraint), ground
    ):
        raise half_null_key(table, constraint)
    pairs = pairs_of(constraint, there)
    other = await ground.in_writer_pool(lambda: _with_keys_of(table, added, there, pairs))
    tables = {_NEW: new, _OTHER: other}
    own: exp.Expression = table_reference(_NEW)
    if not constraint.valid and intents.removed:
        tables[_OLD] = _some(table, [names.absolute(table, path) for path in intents.removed])
        own = _come(constraint.columns)
    row = await _fetch_first(tables, select_unmatched(own, table_reference(_OTHER), pairs), ground)
    if row is not None:
        raise no_such_key(table, constraint, there, row, ground.output, ground.shown_columns(table))
    if oid != table.oid:
        await ground.guard(there, whole=False)


async def judge_whole(table: Table, constraint: Constraint, ground: KeyContext, *, gone: bool) -> None:
    """Check that all rows of a table reference keys that exist. gone: the reason for the check is that keys
    disappeared. Raises ForeignKeyViolation.
    """
    assert constraint.references is not None
    if not constraint.valid:
        raise FeatureNotSupported(f'not supported: judging constraint "{constraint.name}" later, which is NOT VALID')
    oid = constraint.references.table
    there = await ground.refresh(next(other for other in ground.tables() if other.oid == oid))
    table = await ground.refresh(table)
    rows = _some(table, table.files)
    if (
        not gone
        and constraint.references.full
        and await _fetch_first({_NEW: rows}, half_null(table_reference(_NEW), constraint), ground)
    ):
        raise half_null_key(table, constraint)
    tables = {_NEW: rows, _OTHER: _some(there, there.files)}
    row = await _fetch_first(
        tables, select_unmatched(table_reference(_NEW), table_reference(_OTHER), pairs_of(constraint, there)), ground
    )
    if row is not None:
        if gone:
            raise still_referenced(there, table, constraint, row, ground.output, ground.shown_columns(there))
        raise no_such_key(table, constraint, there, row, ground.output, ground.shown_columns(table))
    if oid != table.oid:
        await ground.guard(*((table,) if gone else (there,)), whole=gone)


def half_null(own: exp.Table, constraint: Constraint) -> exp.Select:
    """SELECT a FROM own WHERE (a IS NULL OR b IS NULL) AND NOT (a IS NULL AND b IS NULL)"""
    nulls = [_is_null(_column(name)) for name in constraint.columns]
    some = reduce(lambda a, b: exp.Or(this=a, expression=b), nulls)
    return _select([_column(constraint.columns[0])], own, exp.And(this=some, expression=exp.Not(this=_all(nulls))))


def _come(columns: Sequence[str]) -> exp.Subquery:
    """(SELECT a FROM (SELECT a, 1 AS n FROM new UNION ALL SELECT a, -1 FROM old) GROUP BY a HAVING sum(n) > 0): the
    keys that more rows reference than before. Used for a constraint that is NOT VALID, since rewritten files may hold
    older rows that violate it.
    """
    count, one = exp.Identifier(this=_COUNT, quoted=True), exp.Literal.number(1)
    parts = [
        exp.Select(
            expressions=[*map(_column, columns), exp.Alias(this=sign, alias=count.copy())],
            from_=exp.From(expressions=[table_reference(rows)]),
        )
        for rows, sign in ((_NEW, one), (_OLD, exp.Neg(this=one.copy())))
    ]
    both = _derive_table(exp.Union(this=parts[0], expression=parts[1], distinct=False), "both")
    more = exp.Anonymous(this="sum", expressions=[_column(_COUNT)])
    grouped = exp.Select(
        expressions=[_column(name) for name in columns],
        from_=exp.From(expressions=[both]),
        group=exp.Group(expressions=[_column(name) for name in columns]),
        having=exp.Having(this=exp.GT(this=more, expression=exp.Literal.number(0))),
    )
    return _derive_table(grouped, "own")


def select_unmatched(own: exp.Expression, there: exp.Table, pairs: Pairs) -> exp.Select:
    """SELECT own.a FROM own WHERE own.a IS NOT NULL AND NOT EXISTS (SELECT FROM there WHERE there.k = own.a)"""
    mine = [_column(a, "own") for a, _ in pairs]
    same = [exp.EQ(this=_column(k, "there"), expression=_column(a, "own")) for a, k in pairs]
    return _select(mine, _as(own, "own"), _all([*map(_not_null, mine), _not_exists(_as(there, "there"), same)]))


def _with_keys_of(table: Table, added: Sequence[str], there: Table, pairs: Pairs) -> Table:
    """Return the referenced table without the files that, by their statistics, hold none of the new rows' keys."""
    called = {column.name: column.file_column for column in there.columns}
    files: Sequence[str] = there.files
    for test in (overlap(table, own, added, called[key]) for own, key in pairs):
        if test is not None:
            files = files_passing(replace(there, files=tuple(files)), test)
    return _some(there, files)


# -- keys that are gone ------------------------------------------------------------------------------------------------


def _may_lose(plan: Mutate, constraint: Constraint) -> bool:
    """Return whether a statement can remove a key that the constraint references: by deleting its row, or by changing
    it.
    """
    if plan.kind in ("delete", "merge"):
        return True
    wanted = {key for _, key in pairs_of(constraint, plan.table)}
    return any(set(key.columns) == wanted and not key.parts for key in plan.keys)


async def _judge_gone(
    plan: Mutate,
    child: Table,
    constraint: Constraint,
    intents: Intents,
    moved: Sequence[pa.RecordBatch],
    ground: KeyContext,
) -> None:
    pairs, child = pairs_of(constraint, plan.table), await ground.refresh(child)
    if child.oid != plan.table.oid:
        await ground.guard(child, whole=True)
    assert constraint.references is not None
    if is_told(plan, constraint) and constraint.references.on_update == "cascade":
        await follow(plan, child, pairs, moved, ground)
        return
    async with _taken(plan, constraint, intents, moved, ground) as (gone, tables):
        named_still = _still_named(gone, pairs)
        row = await _fetch_first({**tables, _OTHER: child}, named_still, ground)
        if row is None:
            return
        action = _action(plan, constraint)
        if action in ("no action", "restrict"):
            raise still_referenced(plan.table, child, constraint, row, ground.output, ground.shown_columns(plan.table))
        try:
            following = _build_action(child, gone, pairs, action, _set_columns(plan, child, constraint))
            await ground.carry_out(following, tables)
        except ForeignKeyViolation:
            # The default may be the key that is gone.
            now = await ground.refresh(next(other for other in ground.tables() if other.oid == child.oid))
            row = await _fetch_first({**tables, _OTHER: now}, named_still, ground)
            if row is None:
                raise
            raise still_referenced(
                plan.table, child, constraint, row, ground.output, ground.shown_columns(plan.table)
            ) from None


@asynccontextmanager
async def _taken(
    plan: Mutate,
    constraint: Constraint,
    intents: Intents,
    moved: Sequence[pa.RecordBatch],
    ground: KeyContext,
) -> AsyncIterator[tuple[exp.Select, Mapping[str, Table]]]:
    """Provide the keys that are gone, as a query and the tables that it reads: the keys that rows no longer have if the
    statement kept them row by row, otherwise those that no row has.
    """
    pairs = pairs_of(constraint, plan.table)
    if is_told(plan, constraint):
        async with as_table(plan, moved, ground) as table:
            yield left(pairs), {MOVED: table}
        return
    old = _some(plan.table, [names.absolute(plan.table, path) for path in intents.removed])
    new = _some(plan.table, [names.absolute(plan.table, file.path) for file in intents.added])
    yield _select_gone(pairs, bool(intents.added)), {_OLD: old, _NEW: new}


def _is_left(plan: Mutate, constraint: Constraint) -> bool:
    """Return whether the only action for rows that reference a key that is gone is an error, NO ACTION."""
    assert constraint.references is not None
    deleted, updated = constraint.references.on_delete, constraint.references.on_update
    wanted = {"delete": {deleted}, "merge": {deleted, updated}}.get(plan.kind, {updated})
    return wanted == {"no action"}


def _action(plan: Mutate, constraint: Constraint) -> KeyAction:
    assert constraint.references is not None
    deleted, updated = constraint.references.on_delete, constraint.references.on_update
    if plan.kind == "delete":
        return deleted
    if plan.kind == "merge" and {deleted, updated} != {deleted}:
        raise FeatureNotSupported(
            f'not supported: MERGE that takes away keys which constraint "{constraint.name}" names',
            detail="It says one thing ON UPDATE and another ON DELETE.",
        )
    if updated == "cascade":
        raise FeatureNotSupported(
            f'not supported: a change of a key that rows name by constraint "{constraint.name}", ON UPDATE CASCADE',
            hint="Insert the new key, change the rows that name the old one, and delete that.",
        )
    return updated


def _select_gone(pairs: Pairs, replaced: bool) -> exp.Select:
    """SELECT k FROM old WHERE k IS NOT NULL AND NOT EXISTS (SELECT FROM new WHERE new.k = old.k)

    replaced: whether there are new files; without any, NOT EXISTS is left out.
    """
    keys = [_column(k, "old") for _, k in pairs]
    same = [exp.EQ(this=_column(k, "new"), expression=_column(k, "old")) for _, k in pairs]
    known = list(map(_not_null, keys))
    if replaced:
        known.append(_not_exists(table_reference(_NEW), same))
    return _select(keys, table_reference(_OLD), _all(known))


def _still_named(gone: exp.Select, pairs: Pairs) -> exp.Select:
    """Select the keys that are gone and that rows still reference."""
    same = [exp.EQ(this=_column(a, "own"), expression=_column(k, "gone")) for a, k in pairs]
    there = _exists(table_reference(_OTHER, "own"), same)
    return _select([_column(k, "gone") for _, k in pairs], _derive_table(gone), there)


def _set_columns(plan: Mutate, child: Table, constraint: Constraint) -> Sequence[str]:
    """Return the columns that SET NULL and SET DEFAULT set."""
    assert constraint.references is not None
    some = constraint.references.delete_columns
    if not some or plan.kind == "update":
        return constraint.columns
    if plan.kind == "merge":
        raise FeatureNotSupported(
            f'not supported: MERGE that takes away keys which constraint "{constraint.name}" names',
            detail="It says ON DELETE which columns are set.",
        )
    return [column.name for column in child.columns if column.number in some]


def _build_action(
    child: Table, gone: exp.Select, pairs: Pairs, action: KeyAction, columns: Sequence[str]
) -> MutationStatement:
    """Build the statement that changes the rows that reference keys that are gone. columns: the columns to set."""
    same = _all([exp.EQ(this=_column(a, child.name), expression=_column(k, "gone")) for a, k in pairs])
    target = exp.Table(
        this=exp.Identifier(this=child.name, quoted=True), db=exp.Identifier(this=child.schema, quoted=True)
    )
    others = exp.From(expressions=[_derive_table(gone)])
    if action == "cascade":
        return Delete(target=target, returning=(), using=others, where=same, text="")
    value: exp.Expression = exp.Null() if action == "set null" else exp.Var(this="DEFAULT")
    values = (Assignment(columns=(exp.Identifier(this=a, quoted=True),), value=value.copy()) for a in columns)
    return Update(target=target, returning=(), assignments=tuple(values), from_=others, where=same, text="")


# -- asking -------------------------------------------------------------------------------------------------------------


async def _fetch_first(tables: Mapping[str, Table], tree: exp.Select, ground: KeyContext) -> pa.RecordBatch | None:
    """Return the first row of a query over these tables."""
    tree = tree.copy()
    tree.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    context = BindContext(NamedTables(tables), (), InputSettings())
    bound: Root = await ground.in_writer_pool(lambda: bind_query(Query(tree=tree, text=""), context).plan)
    stream = await ground.ask(bound)
    try:
        while (batch := await stream.next_batch()) is not None:
            if batch.num_rows:
                return batch.slice(0, 1)
    finally:
        await stream.close()
    return None


def _some(table: Table, files: Sequence[str]) -> Table:
    return with_files(replace(table, constraints=(), parts=()), files)


def _select(values: Sequence[exp.Expression], item: exp.Expression, where: exp.Expression) -> exp.Select:
    return exp.Select(
        expressions=list(values), from_=exp.From(expressions=[item]), where=exp.Where(this=where)
    )  # fmt: skip


def _derive_table(query: exp.Expression, called: str = "gone") -> exp.Subquery:
    alias = exp.TableAlias(this=exp.Identifier(this=called, quoted=True))
    return exp.Subquery(this=query.copy(), alias=alias)


def _as(item: exp.Expression, alias: str) -> exp.Expression:
    item = item.copy()
    item.set("alias", exp.TableAlias(this=exp.Identifier(this=alias, quoted=True)))
    return item


def _exists(item: exp.Expression, conditions: Sequence[exp.Expression]) -> exp.Expression:
    return exp.Exists(this=_select([exp.Literal.number(1)], item, _all(conditions)))


def _not_exists(item: exp.Expression, conditions: Sequence[exp.Expression]) -> exp.Expression:
    return exp.Not(this=_exists(item, conditions))


def _is_null(column: exp.Expression) -> exp.Expression:
    return exp.Is(this=column.copy(), expression=exp.Null())


def _not_null(column: exp.Expression) -> exp.Expression:
    return exp.Not(this=_is_null(column))


def _all(conditions: Sequence[exp.Expression]) -> exp.Expression:
    return reduce(lambda a, b: exp.And(this=a, expression=b), conditions)


def _column(name: str, table: str = "") -> exp.Column:
    of = {"table": exp.Identifier(this=table, quoted=True)} if table else {}
    return exp.Column(this=exp.Identifier(this=name, quoted=True), **of)

"""ALTER TABLE, ALTER VIEW and ALTER SEQUENCE: the new definition, the queries that verify existing rows, and whether
the rows must be rewritten.

    change = alter_table(statement, definer)          # definitions, in the session's catalog
    change.rewrite                                    # rows to be written into a new folder, or None
    change.questions                                  # queries that must give no row

No file is touched when a column is renamed or dropped, when a default changes, or when the maximum length of a text
grows. Adding a column and changing a column's type rewrite all rows, so that all files of a table have the same
columns: readers of either engine take a table's schema from one file. PostgreSQL does not rewrite rows for a new column
with a constant default; rewriting them is the price of this rule.

Actions are taken in PostgreSQL's passes (tablecmds.c: AlterTablePass), whatever their order in the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import Constraint, StoredRelation, Table, TableColumn
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.store.transaction import SessionCatalog
from engine.sql.binder.definitions import is_integer, without_position
from engine.sql.binder.domains import is_constrained
from engine.sql.binder.type_names import domain_named, resolve_type
from engine.sql.parser.nodes import statements as s
from engine.statements.ddl.column_type import check_type, is_relabelling
from engine.statements.ddl.columns import ColumnMaker, check_name, stored_default
from engine.statements.ddl.constraint_scan import Question, keys_twice, not_null, violation_query, without_match
from engine.statements.ddl.constraints import with_constraints
from engine.statements.ddl.filling import insert_statement, reading_before
from engine.statements.ddl.index_parts import made_again
from engine.statements.ddl.renaming import move, rename, rename_column, rename_constraint, rename_found
from engine.statements.ddl.sequence import apply_options
from engine.statements.shared.definer import Definer
from engine.statements.shared.dependencies import (
    Dependencies,
    Thing,
    kind_of,
    remove,
    without_column,
)
from engine.statements.shared.names import Names
from wire.dataclass import dataclass
from wire.errors import (
    DuplicateColumn,
    FeatureNotSupported,
    InvalidParameterValue,
    InvalidTableDefinition,
    ObjectNotInPrerequisiteState,
    SqlSyntaxError,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)

_RENAMINGS: Final = (s.RenameRelation, s.RenameColumn, s.RenameConstraint, s.SetSchema)
_NAMES: Final = {
    s.AddColumn: "ADD COLUMN",
    s.DropColumn: "DROP COLUMN",
    s.SetDefault: "ALTER COLUMN ... SET DEFAULT",
    s.DropExpression: "ALTER COLUMN ... DROP EXPRESSION",
    s.SetNotNull: "ALTER COLUMN ... SET NOT NULL",
    s.SetColumnType: "ALTER COLUMN ... SET DATA TYPE",
    s.AddConstraint: "ADD CONSTRAINT",
    s.ValidateConstraint: "VALIDATE CONSTRAINT",
    s.AlterConstraint: "ALTER CONSTRAINT",
    s.DropConstraint: "DROP CONSTRAINT",
    s.SetIdentity: "ALTER COLUMN ... SET",
}


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite of a table: `statement` writes all rows of `before` into the table's new folder, without constraints,
    and `finish` then gives the table its definition.
    """

    before: Table
    statement: s.Insert
    after: Table

    def finish(self, catalog: SessionCatalog) -> None:
        now = catalog.current().relations[self.after.schema, self.after.name]
        assert isinstance(now, Table)
        catalog.objects.put(
            replace(now, columns=self.after.columns, constraints=self.after.constraints), replacing=True
        )


@dataclass(frozen=True, slots=True)
class TableChange:
    rewrite: Rewrite | None = None
    questions: tuple[Question, ...] = ()


def alter_table(statement: s.AlterTable, definer: Definer) -> TableChange:
    """Change a definition. Raises the errors that PostgreSQL raises, and FeatureNotSupported for what stored tables
    cannot do.
    """
    relation = definer.resolve(statement.name)
    if relation is None and (index := definer.index(statement.name)) is not None:
        _alter_index(statement, *index, definer)
        return TableChange()
    if relation is None:
        if not statement.if_exists:
            raise UndefinedTable(f'relation "{statement.name}" does not exist')
        definer.notify(f'relation "{statement.name.name}" does not exist, skipping')
        return TableChange()
    definer.authority.require_owner(relation, kind_of(relation))
    _check_kind(statement, relation)
    if isinstance(relation, Table) and relation.parts:
        raise FeatureNotSupported(f'not supported: ALTER of "{relation.name}", which the topology file declares')
    first = statement.actions[0]
    if isinstance(first, _RENAMINGS):
        _rename(first, relation, definer)
        return TableChange()
    if not isinstance(relation, Table) or relation.query is not None:
        raise WrongObjectType(
            f'ALTER action {_NAMES[type(first)]} cannot be performed on relation "{relation.name}"',
            detail=f"This operation is not supported for {kind_of(relation)}s.",
        )
    if relation.storage is None:
        raise FeatureNotSupported(f"not supported: {_NAMES[type(first)]} of a foreign table")
    return _Alteration(relation, definer).run(statement.actions)


def _alter_index(statement: s.AlterTable, table: Table, index: Constraint, definer: Definer) -> None:
    """Apply ALTER INDEX, or an ALTER TABLE that names an index."""
    if statement.kind not in ("table", "index"):
        raise WrongObjectType(f'"{index.name}" is not a {statement.kind}')
    definer.authority.require_owner(replace(table, name=index.name), "index")
    match statement.actions[0]:
        case s.RenameRelation(to=to):
            rename_found(table, index, to, definer)
        case action:
            raise FeatureNotSupported(f"not supported: ALTER INDEX ... {_NAMES.get(type(action), 'SET SCHEMA')}")


def _check_kind(statement: s.AlterTable, relation: StoredRelation) -> None:
    """Check the relation's kind. ALTER TABLE accepts any kind, the other statements only their own."""
    kind = kind_of(relation)
    if statement.kind not in ("table", kind):
        article = "an" if statement.kind == "index" else "a"
        raise WrongObjectType(f'"{relation.name}" is not {article} {statement.kind}')


def _rename(action: s.TableAction, relation: StoredRelation, definer: Definer) -> None:
    match action:
        case s.RenameRelation(to=to):
            rename(relation, to, definer)
        case s.SetSchema(schema=schema):
            move(relation, schema, definer)
        case s.RenameColumn(name=name, to=to):
            rename_column(relation, name, to, definer)
        case s.RenameConstraint(name=name, to=to):
            rename_constraint(relation, name, to, definer)


@dataclass(slots=True)
class _Alteration:
    """The state of one ALTER TABLE while its actions are applied. table: its definition so far."""

    table: Table
    definer: Definer
    before: Table = field(init=False)
    names: Names = field(init=False)
    constraints: list[s.ConstraintDefinition] = field(default_factory=list)
    #: Actions on constraints, which are applied after all other actions.
    later: list[s.ValidateConstraint | s.AlterConstraint] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    #: The values of columns that change, by number; None for an added column, which takes its default.
    values: dict[int, exp.Expression | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = self.table
        self.names = Names(self.definer.snapshot, self.table.schema)

    def run(self, actions: Sequence[s.TableAction]) -> TableChange:
        for action in sorted(actions, key=_pass):
            self._act(action)
        self._check_one_primary_key()
        old = {constraint.oid for constraint in self.table.constraints}
        nullable = {column.number for column in self.table.columns if column.nullable}
        self.table = with_constraints(self.table, self.constraints, self.definer, self.names)
        self._ask_of_new(old, nullable)
        for last in self.later:
            if isinstance(last, s.ValidateConstraint):
                self._validate(last.name)
            else:
                self._alter_constraint(last)
        return TableChange(self._store(), tuple(self.questions))

    def _check_one_primary_key(self) -> None:
        new = sum(constraint.kind == "primary key" for constraint in self.constraints)
        if new and new + sum(constraint.kind == "primary key" for constraint in self.table.constraints) > 1:
            raise InvalidTableDefinition(f'multiple primary keys for table "{self.table.name}" are not allowed')

    def _ask_of_new(self, old: set[int], nullable: set[int]) -> None:
        """Add the questions that check existing rows against new constraints."""
        for column in self.table.columns:
            if column.number in nullable and not column.nullable:
                self.questions.append(not_null(self.table, column))
        for constraint in self.table.constraints:
            if constraint.oid not in old and constraint.valid:
                self._ask(constraint)

    def _ask(self, constraint: Constraint) -> None:
        if constraint.references is not None:
            itself = constraint.references.table == self.table.oid
            there = self.table if itself else self.definer.table_of(constraint.references.table)
            assert there is not None, "what a foreign key names is there"
            self.questions += without_match(self.table, constraint, there)
            return
        if constraint.kind == "check" or constraint.is_key:
            ask = violation_query if constraint.kind == "check" else keys_twice
            self.questions.append(ask(self.table, constraint))

    def _store(self) -> Rewrite | None:
        """Put the new definition into the catalog, with or without its rows."""
        catalog = self.definer.catalog
        if not self.values:
            # Objects that were dropped with a column may have changed the table in the catalog.
            catalog.objects.put(self.table, replacing=True)
            return None
        bare = tuple(replace(column, nullable=True) for column in self.table.columns)
        made = catalog.tables.rewrite_table(self.before, replace(self.table, columns=bare, constraints=()))
        kept = [c for c in self.table.columns if self.values.get(c.number, c) is not None]
        then = {column.number: column for column in self.before.columns}
        read = [self.values.get(c.number) or _column(then[c.number].name) for c in kept]
        statement = insert_statement(made, reading_before(read), [c.name for c in kept])
        return Rewrite(self.before, statement, self.table)

    # -- actions -------------------------------------------------------------------------------------------------

    def _act(self, action: s.TableAction) -> None:
        match action:
            case s.AddColumn():
                self._add_column(action)
            case s.DropColumn():
                self._drop_column(action)
            case s.SetDefault():
                self._set_default(action)
            case s.DropExpression():
                self._drop_expression(action)
            case s.SetNotNull():
                self._set_not_null(action)
            case s.SetColumnType():
                self._set_type(action)
            case s.AddConstraint(constraint=constraint):
                self.constraints.append(constraint)
            case s.ValidateConstraint() | s.AlterConstraint():
                self.later.append(action)
            case s.DropConstraint():
                self._drop_constraint(action)
            case s.SetIdentity():
                self._set_identity(action)
            case _:
                raise AssertionError("renamings come alone")

    def _find(self, name: str) -> TableColumn:
        column = self.table.column(name)
        if column is None:
            raise UndefinedColumn(f'column "{name}" of relation "{self.table.name}" does not exist')
        return column

    def _replace(self, column: TableColumn) -> None:
        columns = tuple(column if c.number == column.number else c for c in self.table.columns)
        self.table = replace(self.table, columns=columns)

    def _add_column(self, action: s.AddColumn) -> None:
        written, table = action.column, self.table
        if table.column(written.name) is not None:
            message = f'column "{written.name}" of relation "{table.name}" already exists'
            if not action.if_not_exists:
                raise DuplicateColumn(message)
            self.definer.notify(f"{message}, skipping")
            return
        check_name(written.name)
        number = table.next_number
        name = s.QualifiedName(schema=table.schema, name=table.name)
        maker = ColumnMaker(self.definer, name, table.schema, table.oid, self.names)
        column = maker.make(written, number)
        with without_position() if written.generated is not None else nullcontext():
            column = maker.with_default(column, written, replace(table, columns=(*table.columns, column)))
        if any(c.file_column == column.name for c in table.columns):
            column = replace(column, stored=f"{column.name}@{number}")
        for sequence in maker.sequences:
            self.definer.catalog.objects.put(sequence)
        self.table = replace(table, columns=(*table.columns, column), last_number=number)
        self.constraints += written.constraints
        self.values[number] = None
        if not column.nullable:
            self.questions.append(not_null(self.table, column))

    def _drop_column(self, action: s.DropColumn) -> None:
        table = self.table
        column = table.column(action.name)
        if column is None and action.if_exists:
            message = f'column "{action.name}" of relation "{table.name}" does not exist'
            self.definer.notify(f"{message}, skipping")
            return
        column = self._find(action.name)
        made = without_column(table, column.number)
        thing = Thing(table.oid, column.number, "column")
        dependencies = Dependencies(self.definer.snapshot, self.definer.search_path)
        what = dependencies.describe(thing)
        others = [found.thing.column for found in dependencies.closure([thing]) if _is_other_column(found.thing, thing)]
        remove([thing], what, action.cascade, self.definer.catalog, self.definer.search_path, self.definer.notify)
        for other in others:
            made = without_column(made, other)
        self.table = made

    def _drop_expression(self, action: s.DropExpression) -> None:
        column = self._find(action.name)
        if column.generated:
            self._replace(replace(column, default=None, generated=False))
            return
        message = f'column "{column.name}" of relation "{self.table.name}" is not a stored generated column'
        if not action.if_exists:
            raise ObjectNotInPrerequisiteState(message)
        self.definer.notify(f"{message}, skipping")

    def _set_default(self, action: s.SetDefault) -> None:
        column = self._find(action.name)
        if column.generated:
            raise SqlSyntaxError(
                f'column "{column.name}" of relation "{self.table.name}" is a generated column',
                hint="Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."
                if action.formula is None
                else None,
            )
        if column.identity:
            raise SqlSyntaxError(
                f'column "{column.name}" of relation "{self.table.name}" is an identity column',
                hint="Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead." if action.formula is None else None,
            )
        with without_position():
            default = None if action.formula is None else stored_default(action.formula, column, self.definer)
        self._replace(replace(column, default=default))

    def _set_not_null(self, action: s.SetNotNull) -> None:
        column = self._find(action.name)
        if action.not_null:
            if column.nullable:
                self._replace(replace(column, nullable=False))
                self.questions.append(not_null(self.table, column))
            return
        if column.identity:
            raise SqlSyntaxError(f'column "{column.name}" of relation "{self.table.name}" is an identity column')
        if any(c.kind == "primary key" and column.name in c.columns for c in self.table.constraints):
            raise InvalidTableDefinition(f'column "{column.name}" is in a primary key')
        self._replace(replace(column, nullable=True))

    def _validate(self, name: str) -> None:
        found = self._constraint(name)
        if found.is_key:
            raise WrongObjectType(
                f'constraint "{name}" of relation "{self.table.name}" is not a foreign key or check constraint'
            )
        if found.valid:
            return
        self._ask(found)
        self._put(found, replace(found, valid=True))

    def _alter_constraint(self, action: s.AlterConstraint) -> None:
        found = self._constraint(action.name)
        if found.references is None:
            raise WrongObjectType(
                f'constraint "{action.name}" of relation "{self.table.name}" is not a foreign key constraint'
            )
        self._put(found, replace(found, deferrable=action.deferrable))

    def _constraint(self, name: str) -> Constraint:
        found = next((c for c in self.table.constraints if c.name == name and not c.is_index), None)
        if found is None:
            raise UndefinedObject(f'constraint "{name}" of relation "{self.table.name}" does not exist')
        return found

    def _put(self, constraint: Constraint, changed: Constraint) -> None:
        constraints = tuple(changed if c is constraint else c for c in self.table.constraints)
        self.table = replace(self.table, constraints=constraints)

    def _drop_constraint(self, action: s.DropConstraint) -> None:
        there = {c.name: c.oid for c in self.table.constraints if not c.is_index}
        if action.name not in there:
            message = f'constraint "{action.name}" of relation "{self.table.name}" does not exist'
            if not action.if_exists:
                raise UndefinedObject(message)
            self.definer.notify(f"{message}, skipping")
            return
        definer = self.definer
        thing = Thing(there[action.name], kind="constraint")
        dependencies = Dependencies(definer.snapshot, definer.search_path)
        gone = {found.thing.oid for found in dependencies.closure([thing])}
        what = dependencies.describe(thing)
        remove([thing], what, action.cascade, definer.catalog, definer.search_path, definer.notify)
        self.table = replace(self.table, constraints=tuple(c for c in self.table.constraints if c.oid not in gone))

    # -- types ---------------------------------------------------------------------------------------------------

    def _set_type(self, action: s.SetColumnType) -> None:
        column = self._find(action.name)
        with without_position():
            typ = resolve_type(action.type, self.definer.notify, self.definer.user_type)
        domain = domain_named(action.type, self.definer.user_type)
        changed = replace(column, type=typ, domain=domain)
        check_type(self.table, column, changed, using=action.using is not None, definer=self.definer)
        self._replace(changed)
        self._check_indexes(changed)
        if action.using is not None or not is_relabelling(column.type, typ) or is_constrained(domain):
            self.values[column.number] = action.using.tree if action.using is not None else _column(column.name)
            for constraint in self.table.constraints:
                if column.name in constraint.columns:
                    self._ask(constraint)

    def _check_indexes(self, column: TableColumn) -> None:
        """Bind the expressions of indexes over the column again, so that they raise an error if the new type does not fit them."""
        with without_position():
            constraints = tuple(
                made_again(c, self.table, self.definer.context()) if c.parts and column.name in c.columns else c
                for c in self.table.constraints
            )
        self.table = replace(self.table, constraints=constraints)

    # -- identity ------------------------------------------------------------------------------------------------

    def _set_identity(self, action: s.SetIdentity) -> None:
        column = self._find(action.name)
        if action.add:
            self._add_identity(column, action)
        elif not column.identity:
            self._no_identity(column, action)
        elif action.identity == "":
            self._replace(replace(column, identity="", default=None))
            self.definer.catalog.objects.remove(self._sequence(column))
        else:
            self._replace(replace(column, identity=action.identity or column.identity))
            changed = apply_options(self._sequence(column), action.options or s.SequenceOptions(), self.definer)
            self.definer.catalog.objects.put(changed, replacing=True)

    def _no_identity(self, column: TableColumn, action: s.SetIdentity) -> None:
        message = f'column "{column.name}" of relation "{self.table.name}" is not an identity column'
        if not action.if_exists:
            raise ObjectNotInPrerequisiteState(message)
        self.definer.notify(f"{message}, skipping")

    def _add_identity(self, column: TableColumn, action: s.SetIdentity) -> None:
        what = f'column "{column.name}" of relation "{self.table.name}"'
        if not is_integer(column.type):
            raise InvalidParameterValue("identity column type must be smallint, integer, or bigint")
        if column.nullable:
            raise ObjectNotInPrerequisiteState(f"{what} must be declared NOT NULL before identity can be added")
        if column.identity:
            raise ObjectNotInPrerequisiteState(f"{what} is already an identity column")
        if column.default is not None:
            raise ObjectNotInPrerequisiteState(f"{what} already has a default value")
        written = s.ColumnDefinition(
            name=column.name, type=exp.DataType(), identity=action.identity or "always", sequence=action.options
        )
        name = s.QualifiedName(schema=self.table.schema, name=self.table.name)
        maker = ColumnMaker(self.definer, name, self.table.schema, self.table.oid, self.names)
        self._replace(maker.with_identity(column, written))
        for sequence in maker.sequences:
            self.definer.catalog.objects.put(sequence)

    def _sequence(self, column: TableColumn) -> NumberSequence:
        owner = (self.table.oid, column.number)
        relations = self.definer.snapshot.relations.values()
        return next(r for r in relations if isinstance(r, NumberSequence) and r.internal and r.owner == owner)


def _is_other_column(found: Thing, named: Thing) -> bool:
    """Return whether an object is a column that is generated from the one that is dropped."""
    return found.kind == "column" and found.oid == named.oid and found != named


def _pass(action: s.TableAction) -> int:
    match action:
        case s.DropColumn() | s.DropConstraint() | s.SetNotNull(not_null=False) | s.SetDefault(formula=None):
            return 0
        case s.SetColumnType():
            return 1
        case s.AddColumn():
            return 2
        case s.SetNotNull() | s.SetIdentity():
            return 4
        case s.AddConstraint():
            return 5
        case _:
            return 6


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True))

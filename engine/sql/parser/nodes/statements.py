"""Statements as the parser returns them: the kind of statement, with names folded and nothing bound.

`engine.sql.parser.parse.parse(sql)` splits a query string and returns one of these for each statement. Queries hold
their sqlglot tree; utility statements are read into fields, since sqlglot keeps them as text. Execution dispatches on
the class: the server's session executes those marked *session* (transactions, cursors, prepared statements), the engine
the rest.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from sqlglot import exp

from engine.catalog.model.objects import Deferrable, KeyAction
from engine.common.disposal import end_tree
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Statement:
    """A parsed statement. text: its own source, without its semicolon. offset: its beginning in the query string, in
    characters, from which an error's position is computed.
    """

    text: str
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Statement):
    """SELECT, VALUES, TABLE, WITH ... SELECT."""

    tree: exp.Expression = field(compare=False)

    def __del__(self) -> None:
        end_tree(self, "tree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(Statement):
    """EXPLAIN [ANALYZE] [(options)] statement. `inner` is a Query, MutationStatement, DeclareCursor or
    ExecuteStatement. summary: None if it was not given.
    """

    inner: Statement
    analyze: bool = False
    format: Literal["text", "json", "xml", "yaml"] = "text"
    verbose: bool = False
    costs: bool = True
    distsql: bool = False
    timing: bool = True
    summary: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifiedName:
    schema: str | None
    name: str
    position: int = 0

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleName:
    """A role's name in a statement. special: in place of a name, "current" (also CURRENT_ROLE), "session" or "public"."""

    name: str = ""
    special: Literal["", "current", "session", "public"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Statement):
    name: QualifiedName
    columns: tuple[str, ...]
    query: Query
    replace: bool = False
    temporary: bool = False
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """An expression of a definition (DEFAULT, CHECK, USING). text: as written; positions in its tree count from the
    beginning of the statement."""

    tree: exp.Expression = field(compare=False)
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceOptions:
    """The options of CREATE SEQUENCE, ALTER SEQUENCE and AS IDENTITY (...); None if not given.

    minimum, maximum: "no" is NO MINVALUE, NO MAXVALUE. restart: "start" is RESTART without a value.
    owned_by: (schema or None, table, column); () is OWNED BY NONE. name: SEQUENCE NAME of an identity column.
    """

    type: exp.DataType | None = field(default=None, compare=False)
    start: int | None = None
    increment: int | None = None
    minimum: int | Literal["no"] | None = None
    maximum: int | Literal["no"] | None = None
    cache: int | None = None
    cycle: bool | None = None
    restart: int | Literal["start"] | None = None
    owned_by: tuple[QualifiedName, str] | tuple[()] | None = None
    name: QualifiedName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencedKey:
    """REFERENCES table [(columns)] [MATCH FULL] [ON UPDATE ...] [ON DELETE ...]. columns: empty for the primary key.
    delete_columns: the columns that ON DELETE SET ... names, if any.
    """

    table: QualifiedName
    columns: tuple[str, ...] = ()
    full: bool = False
    on_update: KeyAction = "no action"
    on_delete: KeyAction = "no action"
    delete_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintDefinition:
    """A constraint of a column or a table. name: None if PostgreSQL chooses one. columns: a key's; those of a check
    are in its formula. included: INCLUDE's columns. references: a foreign key's. position: its position in the
    statement. valid: False for NOT VALID.
    """

    kind: Literal["check", "primary key", "unique", "foreign key"]
    name: str | None = None
    columns: tuple[str, ...] = ()
    formula: Formula | None = None
    references: ReferencedKey | None = None
    position: int = -1
    deferrable: Deferrable = ""
    included: tuple[str, ...] = ()
    nulls_not_distinct: bool = False
    valid: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedColumn:
    """A column or an expression of an index. name: the column's; for an expression, its formula. operators: the named
    operator class. nulls_first: None is the default of the order. ordered: whether ASC or DESC is written.
    """

    name: str = ""
    formula: Formula | None = None
    operators: QualifiedName | None = None
    ordered: bool = False
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDefinition:
    """A column of CREATE [FOREIGN] TABLE or ADD COLUMN: its type as a sqlglot tree, which the binder resolves.

    null: whether NULL was written. sequence: the options in parentheses after AS IDENTITY. generated: the expression of
    a generated column.
    """

    name: str
    type: exp.DataType
    not_null: bool = False
    null: bool = False
    position: int = -1
    default: Formula | None = None
    identity: Literal["", "always", "by default"] = ""
    sequence: SequenceOptions | None = None
    generated: Formula | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeTable:
    """LIKE name [INCLUDING | EXCLUDING option ...], among a table's columns. including: the options that result:
    `defaults`, `constraints`, `indexes`, `identity`, `comments` and some without effect here.
    """

    name: QualifiedName
    including: frozenset[str] = frozenset()


#: The effect of a commit on a temporary table.
OnCommit = Literal["preserve", "delete", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """The storage of a new table: PARTITION BY's columns with their positions, WITH (name = value, ...), and the
    action of ON COMMIT. unlogged: CREATE UNLOGGED.
    """

    partition_by: tuple[tuple[str, int], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    on_commit: OnCommit = "preserve"
    unlogged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(Statement):
    """CREATE [TEMPORARY] TABLE [IF NOT EXISTS] name (columns and constraints) [PARTITION BY] [WITH]."""

    name: QualifiedName
    columns: tuple[ColumnDefinition | LikeTable, ...]
    constraints: tuple[ConstraintDefinition, ...] = ()
    layout: TableLayout = TableLayout()
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableAs(Statement):
    """CREATE TABLE name [(columns)] AS query [WITH [NO] DATA], or SELECT ... INTO (`into`).

    `engine.statements.ddl.table.create_table_as` makes the definition; `engine.statements.dml` writes the rows.
    """

    name: QualifiedName
    columns: tuple[str, ...]
    query: Query
    layout: TableLayout = TableLayout()
    temporary: bool = False
    if_not_exists: bool = False
    with_data: bool = True
    into: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateMaterializedView(Statement):
    """CREATE MATERIALIZED VIEW [IF NOT EXISTS] name [(columns)] AS query [WITH [NO] DATA]."""

    name: QualifiedName
    columns: tuple[str, ...]
    query: Query
    layout: TableLayout = TableLayout()
    if_not_exists: bool = False
    with_data: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshMaterializedView(Statement):
    name: QualifiedName
    concurrently: bool = False
    with_data: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateForeignTable(Statement):
    """CREATE FOREIGN TABLE [IF NOT EXISTS] name [(columns)] [SERVER name] OPTIONS (key 'value', ...)."""

    name: QualifiedName
    columns: tuple[ColumnDefinition, ...]
    options: tuple[tuple[str, str], ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportForeignSchema(Statement):
    """IMPORT FOREIGN SCHEMA remote [{LIMIT TO | EXCEPT} (tables)] FROM SERVER server INTO into [OPTIONS (key 'value', ...)]."""

    remote: str
    server: str
    into: str
    kind: Literal["all", "limit to", "except"] = "all"
    tables: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def wants(self, table: str) -> bool:
        """Return whether a table of the remote schema is to be imported."""
        return self.kind == "all" or (table in self.tables) == (self.kind == "limit to")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema(Statement):
    """CREATE SCHEMA. name: empty if it is the owner's. owner: AUTHORIZATION."""

    name: str
    owner: RoleName | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIndex(Statement):
    """CREATE INDEX. name: None if PostgreSQL chooses one. included: INCLUDE's columns. predicate: the condition of a
    partial index. parameters: the names of its storage parameters.
    """

    table: QualifiedName
    columns: tuple[IndexedColumn, ...]
    parameters: tuple[str, ...] = ()
    method: str = "btree"
    included: tuple[str, ...] = ()
    name: str | None = None
    unique: bool = False
    if_not_exists: bool = False
    predicate: Formula | None = None
    nulls_not_distinct: bool = False


ReindexKind = Literal["index", "table", "schema", "system", "database"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindex(Statement):
    kind: ReindexKind
    name: QualifiedName
    concurrently: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSequence(Statement):
    name: QualifiedName
    options: SequenceOptions
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterSequence(Statement):
    name: QualifiedName
    options: SequenceOptions
    if_exists: bool = False


RelationKind = Literal["table", "view", "materialized view", "sequence", "index", "foreign table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable(Statement):
    """ALTER {TABLE | VIEW | SEQUENCE | ...} [IF EXISTS] name action [, ...]. kind: the keyword, which determines the
    command tag.
    """

    kind: RelationKind
    name: QualifiedName
    actions: tuple[TableAction, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterViewOptions(Statement):
    """ALTER VIEW [IF EXISTS] name {SET (name = value, ...) | RESET (name, ...)}. A value of None resets."""

    name: QualifiedName
    options: tuple[tuple[str, str | None], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterSchema(Statement):
    """ALTER SCHEMA name RENAME TO to."""

    name: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateEnum(Statement):
    """CREATE TYPE name AS ENUM (labels)."""

    name: QualifiedName
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeDefinition:
    name: str
    type: exp.DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateComposite(Statement):
    """CREATE TYPE name AS (attributes)."""

    name: QualifiedName
    attributes: tuple[AttributeDefinition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAttribute:
    attribute: AttributeDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class DropAttribute:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterAttribute:
    """ALTER ATTRIBUTE name SET DATA TYPE type."""

    attribute: AttributeDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameAttribute:
    name: str
    to: str


#: An action of ALTER TYPE on an attribute; one statement may have several.
AttributeAction = AddAttribute | DropAttribute | AlterAttribute


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLabel:
    """ADD VALUE. before: whether the label comes before `neighbour`, else after it; without a neighbour it comes last."""

    label: str
    if_not_exists: bool = False
    before: bool = False
    neighbour: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameLabel:
    label: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterType(Statement):
    name: QualifiedName
    action: AddLabel | RenameLabel | RenameRelation | SetSchema | RenameAttribute | tuple[AttributeAction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameRelation:
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    name: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameConstraint:
    name: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSchema:
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    column: ColumnDefinition
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumn:
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDefault:
    """SET or DROP DEFAULT. formula: None is DROP DEFAULT."""

    name: str
    formula: Formula | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetNotNull:
    """SET or DROP NOT NULL. not_null: False is DROP NOT NULL."""

    name: str
    not_null: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SetColumnType:
    name: str
    type: exp.DataType
    using: Formula | None = None
    position: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint:
    constraint: ConstraintDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateConstraint:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConstraint:
    """ALTER CONSTRAINT. Deferrability that is not given becomes the default."""

    name: str
    deferrable: Deferrable


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint:
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropExpression:
    """DROP EXPRESSION: a generated column becomes a plain one, and keeps its values."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetIdentity:
    """ADD GENERATED (identity, `add`), SET GENERATED, SET sequence options. DROP IDENTITY has the identity ""."""

    name: str
    identity: Literal["", "always", "by default"] | None
    options: SequenceOptions | None = None
    add: bool = False
    if_exists: bool = False


TableAction = (
    RenameRelation
    | RenameColumn
    | RenameConstraint
    | SetSchema
    | AddColumn
    | DropColumn
    | SetDefault
    | DropExpression
    | SetNotNull
    | SetColumnType
    | AddConstraint
    | ValidateConstraint
    | AlterConstraint
    | DropConstraint
    | SetIdentity
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment(Statement):
    """COMMENT ON kind name IS text. part: the column, or the constraint of `name`.
    comment: None is NULL."""

    kind: Literal["schema", "column", "constraint", "type", "domain", "domain constraint"] | RelationKind
    name: QualifiedName
    comment: str | None
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Statement):
    kind: Literal["schema", "type", "domain"] | RelationKind
    names: tuple[QualifiedName, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariable(Statement):
    """SET [SESSION | LOCAL] name {TO | =} value; value None is DEFAULT. SET TIME ZONE, SET NAMES and SET [SESSION
    CHARACTERISTICS AS] TRANSACTION are represented as the settings that they change; `also` holds the further ones if
    several modes were given (with the same `local`).
    """

    name: str
    value: str | None
    local: bool = False
    also: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetConstraints(Statement):
    """SET CONSTRAINTS {ALL | name, ...} {DEFERRED | IMMEDIATE}. names: empty for all."""

    names: tuple[QualifiedName, ...] = ()
    deferred: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowVariable(Statement):
    """SHOW name; name "all" for SHOW ALL."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetVariable(Statement):
    """RESET name; name "all" for RESET ALL."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin(Statement):
    """*session.* BEGIN / START TRANSACTION, with its modes as settings (`transaction_isolation`, ...)."""

    modes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Statement):
    """*session.* COMMIT / END [AND CHAIN]."""

    chain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback(Statement):
    """*session.* ROLLBACK / ABORT [AND CHAIN]."""

    chain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareTransaction(Statement):
    """*session.* PREPARE TRANSACTION."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint(Statement):
    """*session.* SAVEPOINT name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackTo(Statement):
    """*session.* ROLLBACK TO [SAVEPOINT] name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Statement):
    """*session.* RELEASE [SAVEPOINT] name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareCursor(Statement):
    """*session.* DECLARE. scroll: None if neither SCROLL nor NO SCROLL was written."""

    name: str
    query: Query
    binary: bool = False
    hold: bool = False
    scroll: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch(Statement):
    """*session.* FETCH and MOVE. direction: as in PostgreSQL; count: None is ALL."""

    cursor: str
    direction: Literal["forward", "backward", "absolute", "relative"]
    count: int | None
    move: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCursor(Statement):
    """*session.* CLOSE. name: None is ALL."""

    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStatement(Statement):
    """*session.* PREPARE name (types) AS statement."""

    name: str
    types: tuple[exp.Expression, ...]
    inner: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteStatement(Statement):
    """*session.* EXECUTE name (arguments): constant expressions."""

    name: str
    arguments: tuple[exp.Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deallocate(Statement):
    """*session.* DEALLOCATE. name: None is ALL."""

    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen(Statement):
    """*session.* LISTEN channel."""

    channel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisten(Statement):
    """*session.* UNLISTEN. channel: None is all."""

    channel: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify(Statement):
    """*session.* NOTIFY channel [, payload]."""

    channel: str
    payload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard(Statement):
    """*session.* DISCARD."""

    target: Literal["all", "plans", "sequences", "temp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """columns = value, of SET. row: several columns, in parentheses: the value is a `Tuple` or an expression that is a
    row.

    parts: for each column the subscripts and fields of the part that is assigned, outermost first; empty for the whole
    column.
    """

    columns: tuple[exp.Identifier, ...]
    value: exp.Expression
    row: bool = False
    parts: tuple[tuple[exp.Expression, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OnConflict:
    """ON CONFLICT. columns, formulas: those of the conflict target, with the predicate of its index; or the name of a
    constraint; neither: any key. assignments: DO UPDATE's; empty for DO NOTHING.
    """

    columns: tuple[exp.Identifier, ...] = ()
    formulas: tuple[exp.Expression, ...] = ()
    predicate: exp.Expression | None = None
    constraint: exp.Identifier | None = None
    assignments: tuple[Assignment, ...] = ()
    where: exp.Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationStatement(Statement):
    """INSERT, UPDATE, DELETE or MERGE. Positions in its trees count from the beginning of its text.

    target: the table; its alias, if any. returning: a select list; empty without RETURNING.
    """

    target: exp.Table = field(compare=False)
    returning: tuple[exp.Expression, ...] = field(compare=False)
    with_: exp.With | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(MutationStatement):
    """INSERT. columns: None without a list. parts: those of the columns, as in `Assignment.parts`. source: a query;
    None is DEFAULT VALUES.

    filling: whether the statement is part of a definition, which may write into a materialized view.
    """

    alias: str | None
    columns: tuple[exp.Identifier, ...] | None = field(compare=False)
    source: exp.Expression | None = field(compare=False)
    parts: tuple[tuple[exp.Expression, ...], ...] = field(default=(), compare=False)
    overriding: Literal["", "user", "system"] = ""
    conflict: OnConflict | None = field(default=None, compare=False)
    filling: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(MutationStatement):
    assignments: tuple[Assignment, ...] = field(compare=False)
    from_: exp.From | None = field(default=None, compare=False)
    where: exp.Expression | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(MutationStatement):
    using: exp.From | None = field(default=None, compare=False)
    where: exp.Expression | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeWhen:
    """WHEN [NOT] MATCHED [AND condition] THEN action. values: INSERT's; None is DEFAULT VALUES."""

    matched: bool
    condition: exp.Expression | None
    action: Literal["nothing", "update", "delete", "insert"]
    assignments: tuple[Assignment, ...] = ()
    columns: tuple[exp.Identifier, ...] | None = None
    parts: tuple[tuple[exp.Expression, ...], ...] = ()
    values: tuple[exp.Expression, ...] | None = None
    overriding: Literal["", "user", "system"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(MutationStatement):
    """MERGE. source: a FROM item."""

    source: exp.Expression = field(compare=False)
    condition: exp.Expression = field(compare=False)
    whens: tuple[MergeWhen, ...] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithChanges(Statement):
    """A WITH some of whose items change rows (an item's `this.meta["changes"]` is its statement), and the statement
    after it, without its WITH.
    """

    items: tuple[exp.CTE, ...] = field(compare=False)
    last: Query | MutationStatement
    recursive: bool = False


LockMode = Literal[
    "access share", "row share", "row exclusive", "share update exclusive", "share", "share row exclusive", "exclusive",
    "access exclusive",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock(Statement):
    """LOCK [TABLE] name, ... [IN mode MODE] [NOWAIT]."""

    tables: tuple[QualifiedName, ...]
    mode: LockMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Statement):
    """CHECKPOINT. It has no effect: acknowledged changes are durable already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(Statement):
    tables: tuple[exp.Table, ...] = field(compare=False)
    restart: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuum(Statement):
    """VACUUM [FULL] [VERBOSE] [ANALYZE] [table [(column, ...)], ...]. tables: empty for all. analyze: the part of
    ANALYZE.
    """

    tables: tuple[QualifiedName, ...] = ()
    full: bool = False
    verbose: bool = False
    analyze: Analyze | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyze(Statement):
    """ANALYZE [VERBOSE] [table [(column, ...)], ...]. tables: empty for all; each with its columns, empty for all."""

    tables: tuple[tuple[QualifiedName, tuple[str, ...]], ...] = ()
    verbose: bool = False

"""Scopes and name resolution, shared by the query binder and the expression binder.

The query binder (`engine.sql.binder.queries` and its siblings) builds scopes while it walks FROM clauses; the
expression binder (`engine.sql.binder.expressions`) looks up columns, parameters, windows and subqueries in them. There
is one `BindContext` per statement and one `Scope` per SELECT level; a scope's parent is the scope that its query is
nested in.

Trees come from `engine.sql.parser.grammar`, whose docstring lists their shapes; `position(node)` is the position of a
node's token.

The rules are PostgreSQL's (parse_relation.c, parse_expr.c: transformColumnRef). A bare name is looked up among the
columns of each level, innermost first, and then among relation names, where it means the whole row. Two matches in one
level are ambiguous. A relation may be visible by name only, by its columns only, or to LATERAL items only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Case, Column, ColumnRef, Expr, Row
from engine.plan_ir.requirements import Accesses
from engine.sql.binder.suggestions import column_hint
from engine.sql.parser.lexical.positions import cursor, position
from wire.dataclass import dataclass
from wire.errors import (
    AmbiguousAlias,
    AmbiguousColumn,
    AmbiguousParameter,
    FeatureNotSupported,
    IndeterminateDatatype,
    InvalidColumnReference,
    SqlSyntaxError,
    UndefinedColumn,
    UndefinedObject,
    UndefinedParameter,
    UndefinedTable,
    WindowingError,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.catalog.model.objects import Relation, Table
    from engine.plan_ir.expr import Node
    from wire.types.input import InputSettings

#: The highest number of a parameter that PostgreSQL reads (parse_param.c), and how many Bind can give values.
_NUMBER_MAX: Final = (2**31 - 1) // 4
_BOUND_MAX: Final = 65_535


class Catalog(Protocol):
    """The catalog snapshot as the binder uses it."""

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> Relation | None:
        """Return the relation of that name in `schema`, or else the first one along `search_path`; None if there is
        none.
        """
        ...

    def by_oid(self, oid: int) -> Relation | None:
        """Return the relation with that OID, as `resolve` does."""
        ...

    def oid_of(self, schema: str | None, name: str, search_path: Sequence[str]) -> int | None:
        """Return the OID of the relation of any kind that has that name, including sequences and indexes."""
        ...

    def schema_oid(self, name: str) -> int | None: ...

    def has_schema(self, name: str) -> bool: ...


class ParameterTypes:
    """The types of $1 ..., as declared by the client or fixed by their first use (parse_param.c, variable parameters).

    declared: OIDs; 0 and 705 (unknown) leave the type to be inferred.
    digits: precision, scale and dimensions of parameters' values, by parameter: known at Bind
        (`engine.session.context.parameter_digits`), empty at Parse.
    find: returns the type of an OID.
    """

    def __init__(
        self,
        declared: Sequence[int] = (),
        digits: Mapping[int, tuple[int, int, int]] | None = None,
        find: Callable[[int], t.PgType | None] = t.BY_OID.get,
    ) -> None:
        self._types: dict[int, SqlType | None] = {}
        self._digits = digits or {}
        self._open: set[int] = set()
        self._domains: dict[int, t.PgType] = {}
        #: The types of parameters without digits, cached because thousands of parameters may have the same type.
        self._bases: dict[t.PgType, SqlType] = {}
        #: Whether further parts of the statement are still to be bound.
        self.partial = False
        for index, oid in enumerate(declared, 1):
            if oid in (0, t.UNKNOWN.oid):
                self._types[index] = None
                continue
            pg = find(oid)
            if pg is None:
                raise UndefinedObject(f"type with OID {oid} does not exist")
            if pg.domain is not None:
                self._domains[index] = pg
            self._types[index] = self._with_digits(index, t.base_of(pg))

    def type_of(self, index: int, at: int = -1) -> SqlType | None:
        """Return the type of $index, or None while it is not known, and register the parameter. Raises
        UndefinedParameter.
        """
        if not 1 <= index <= _NUMBER_MAX:
            raise UndefinedParameter(f"there is no parameter ${index}", position=cursor(at))
        return self._types.setdefault(index, None)

    def fix(self, index: int, typ: SqlType, at: int = -1) -> SqlType:
        """Set the type of $index. Raises AmbiguousParameter if an earlier use gave it another type."""
        known = self.type_of(index, at)
        if known is None and index in self._open:
            raise AmbiguousParameter(f"could not determine data type of parameter ${index}", position=cursor(at))
        if known is None:
            known = self._types[index] = self._with_digits(index, typ.pg)
        elif known.pg is not typ.pg:
            raise AmbiguousParameter(
                f"inconsistent types deduced for parameter ${index}",
                detail=f"{known.pg.sql_name} versus {typ.pg.sql_name}",
                position=cursor(at),
            )
        return known

    def fix_domain(self, index: int, domain: t.PgType) -> None:
        """Record that the context of $index requires a domain, which clients receive as its type."""
        self._domains.setdefault(index, domain)

    def domain_of(self, index: int) -> t.PgType | None:
        return self._domains.get(index)

    def leave_open(self, index: int) -> None:
        """Record a use of $index that does not determine its type (`count($1)`): no later use may set it."""
        self._open.add(index)

    def finish(self) -> tuple[t.PgType, ...]:
        """Return the types of $1 to the highest parameter; none while this is `partial`. Raises IndeterminateDatatype
        if one is still unknown.
        """
        if self.partial:
            return ()
        found: list[t.PgType] = []
        for index in range(1, max(self._types, default=0) + 1):
            if index > _BOUND_MAX:
                raise FeatureNotSupported(f"not supported: more than {_BOUND_MAX} parameters")
            known = self._types.get(index)
            if known is None:
                raise IndeterminateDatatype(f"could not determine data type of parameter ${index}")
            found.append(self._domains.get(index, known.pg))
        return tuple(found)

    def _with_digits(self, index: int, pg: t.PgType) -> SqlType:
        base = self._bases.get(pg)
        if base is None:
            base = self._bases[pg] = st.of(pg)
        if index not in self._digits:
            return base
        precision, scale, dimensions = self._digits[index]
        if precision and base.precision:
            wide = precision > st.MAX_PRECISION
            base = replace(st.wide_numeric() if wide else st.numeric(precision, scale), pg=pg)
        return replace(base, dimensions=dimensions)


@dataclass(frozen=True, slots=True)
class RowLock:
    """A relation whose rows FOR UPDATE or its kin locks. strength: the clause's words."""

    strength: str
    relation: Relation


@dataclass(frozen=True, slots=True)
class Rows:
    """The relations that the rows of a FROM item or of a query belong to, for FOR UPDATE
    (`engine.sql.binder.row_locks`).

    relations: those of the catalog. refused: the clause that makes its rows belong to no relation ("GROUP BY clause").
    kind: the kind of item if FOR UPDATE OF cannot name it ("a join").
    """

    relations: tuple[Relation, ...] = ()
    refused: str = ""
    kind: str = ""


#: The rows of a query or an item that belong to no table.
NOBODYS: Final = Rows()


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """A FROM item's primary key. constraint: its OID. columns: the ids of its columns. of: the ids of all columns that
    the key determines.
    """

    constraint: int
    columns: frozenset[int]
    of: frozenset[int]


class QueryBinder(Protocol):
    """The query binder as expressions use it."""

    def bind_subquery(self, tree: exp.Expression, scope: Scope) -> tuple[Node, tuple[str, ...]]:
        """Plan a query nested in an expression of `scope`. Returns the plan, whose columns are the query's, and their
        names.
        """
        ...


@dataclass(slots=True)
class BindContext:
    """The state of a statement that is being bound, shared by all its levels.

    search_path: the effective path, in order, implicit schemas included.
    session_path: the session's path while a view is bound, whose names are resolved along the view's own path;
        functions resolve and print names by the session's path.
    input_settings: the session's DateStyle, TimeZone and IntervalStyle, and `now`. literal_settings: the settings by
        which literals are read, if they differ: a prepared statement's literals are read when it is prepared.
    stable: set to False if a folded value is valid for this execution only, so that the plan is not cached.
    owners: the scope that each column belongs to, by the column's id.
    origins: the relation's OID and the column's number behind each column, by the column's id.
    row_locks: the locking clauses (FOR UPDATE ...). accesses: the privileges that the statement needs.
    primary_keys: OIDs of primary keys without which GROUP BY would be an error.
    role_oid: returns a role's OID by its name.
    find_type: finds a user-defined type by its schema, if one was written, its name and the search path.
    type_names: the names of those types that format_type shows, by OID.
    find_file: finds the table for a path in FROM; None where files may not be named.
    column_names: for parts of trees, by `id()`: the part, and the names of columns that occur anywhere in its tree.
    """

    catalog: Catalog
    search_path: tuple[str, ...]
    input_settings: InputSettings
    parameters: ParameterTypes = field(default_factory=ParameterTypes)
    database: str = "sluice"
    notice: Callable[[str], None] = lambda _message: None
    stable: bool = True
    role_oid: Callable[[str], int | None] = lambda _name: None
    owners: dict[int, Scope] = field(default_factory=dict)
    origins: dict[int, tuple[int, int]] = field(default_factory=dict)
    row_locks: list[RowLock] = field(default_factory=list)
    accesses: Accesses = field(default_factory=Accesses)
    primary_keys: set[int] = field(default_factory=set)
    find_type: Callable[[str | None, str, Sequence[str]], t.PgType | None] = lambda _schema, _name, _path: None
    type_names: Callable[[], Mapping[int, str]] = dict
    find_file: Callable[[str], Table] | None = None
    column_names: dict[int, tuple[exp.Expr, frozenset[str]]] = field(default_factory=dict)
    literal_settings: InputSettings | None = None
    session_path: tuple[str, ...] | None = None
    _columns: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _ctes: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def user_type(self, schema: str | None, name: str) -> t.PgType | None:
        """Find a user-defined type, for `engine.sql.binder.type_names.resolve_type`."""
        return self.find_type(schema, name, self.search_path)

    def new_column(self, name: str, typ: SqlType, nullable: bool = True) -> Column:
        """Return a column with an id that no other column of the statement has."""
        return Column(next(self._columns), name, typ, nullable)

    def new_cte_id(self) -> int:
        return next(self._ctes)

    @contextmanager
    def statement_binding(self) -> Iterator[None]:
        """Remove the context's references to the statement's trees and scopes after the statement is bound. These
        refer back to the context; without the cycle they can be freed without a garbage collection.
        """
        try:
            yield
        finally:
            self.owners.clear()
            self.column_names.clear()


@dataclass(slots=True)
class CommonTable:
    """A WITH item as FROM sees it.

    columns: its plan's. names: their names, with aliases applied. available: False for an item that is written further
        on.
    recursive: whether it reads itself; its columns then have no origin in a table. added: names of its last columns
        while it is bound; its recursive term can refer to them by name, but they are not part of `*`
        (`engine.sql.binder.search_cycle`).
    """

    id: int
    name: str
    columns: tuple[Column, ...] = ()
    names: tuple[str, ...] = ()
    available: bool = True
    recursive: bool = False
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column that a FROM item offers: a plain reference, or the merged column of a FULL JOIN USING."""

    name: str
    expr: Expr


@dataclass(slots=True)
class Source:
    """A FROM item as name resolution sees it (PostgreSQL: ParseNamespaceItem).

    name: its alias, or its relation's name. schema: set if `schema.name.column` may be written.
    relation: the name of the relation behind an alias, for error messages.
    relation_visible, columns_visible: whether `name.column`, or a bare `column`, finds it.
    join: a JOIN's columns, which have no relation name.
    scalar: a function that returns one plain value: its whole row is that value.
    row_type: returns the type of a table's rows. placed: whether its rows are stored in a table, where PostgreSQL's
        would have a ctid.
    rows: the relations that its rows belong to. system: columns that are found by name, but are not part of `*`
        (`tableoid`).
    key: a table's primary key, which determines all its columns within a group.
    present: true in its own rows, null in the rows that an outer join adds.
    """

    name: str
    columns: tuple[SourceColumn, ...]
    schema: str | None = None
    relation: str | None = None
    relation_visible: bool = True
    columns_visible: bool = True
    join: bool = False
    scalar: bool = False
    rows: Rows = NOBODYS
    system: tuple[SourceColumn, ...] = ()
    row_type: Callable[[], t.PgType] | None = None
    placed: bool = False
    key: PrimaryKey | None = None
    present: Expr | None = None

    def find(self, name: str, at: int) -> Expr | None:
        """Return the column of that name. Raises AmbiguousColumn if there are two."""
        found = [c.expr for c in self.columns if c.name == name]
        if len(found) > 1:
            raise AmbiguousColumn(f'column reference "{name}" is ambiguous', position=cursor(at))
        return found[0] if found else next((c.expr for c in self.system if c.name == name), None)

    def whole_row(self) -> Expr:
        """Return the row as a value: null if an outer join has no row."""
        if self.scalar:
            return self.columns[0].expr
        row = self.row()
        return row if self.present is None else Case(row.type, ((self.present, row),), None)

    def row(self) -> Row:
        items = tuple(c.expr for c in self.columns)
        if self.row_type is not None:
            named = SqlType(self.row_type())
            if [typ for _, typ in named.fields] == [item.type for item in items]:
                return Row(named, items)
        fields = tuple((c.name, c.expr.type) for c in self.columns)
        return Row(SqlType(t.RECORD, fields=fields), items)


class Sources:
    """The FROM items that names may refer to, in order, indexed by name. A statement of a thousand joins looks up a
    thousand names in lists that each join makes longer. A join takes over the index of its left side instead of copying
    it.
    """

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._items: dict[int, Source] = {}
        self._numbers = itertools.count()
        self._by_name: dict[str, list[int]] = {}
        #: The numbers of the sources whose columns are found by their bare names.
        self._offering: list[int] = []
        self.extend(sources)

    def __iter__(self) -> Iterator[Source]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def append(self, source: Source) -> None:
        number = next(self._numbers)
        self._items[number] = source
        if source.relation_visible:
            self._by_name.setdefault(source.name, []).append(number)
        if source.columns_visible:
            self._offering.append(number)

    def extend(self, sources: Iterable[Source]) -> None:
        for source in sources:
            self.append(source)

    def find_named(self, name: str) -> Sequence[Source]:
        """Return the sources that a relation's name may refer to."""
        return [self._items[number] for number in self._by_name.get(name, ())]

    def list_offering(self) -> Sequence[Source]:
        """Return the sources whose columns bare names may refer to."""
        return [self._items[number] for number in self._offering]

    def columns(self) -> tuple[SourceColumn, ...]:
        offering = self.list_offering()
        return offering[0].columns if len(offering) == 1 else tuple(c for s in offering for c in s.columns)

    def replace(self, source: Source, other: Source) -> None:
        """Replace a source that is found by its relation's name by another one."""
        for number in self._by_name[source.name]:
            if self._items[number] is source:
                self._items[number] = other

    def hide_columns(self) -> None:
        """Make all sources visible by their relations' names only, as both sides of a join are. Sources without such a
        name are removed.
        """
        for number in self._offering:
            source = self._items[number]
            if source.relation_visible:
                self._items[number] = replace(source, columns_visible=False)
            else:
                del self._items[number]
        self._offering.clear()


class Scope:
    """The names of one SELECT level.

    sources: the FROM items that can be referred to now. left: the items to the left of the one that is being bound, for
        LATERAL, and whether LATERAL may refer to them. known: every FROM item met so far, for error messages.
    windows: the WINDOW clause, by name. ctes: this level's WITH items.
    lateral_active: whether a LATERAL item is being bound, which sees the items to its left.
    """

    def __init__(self, context: BindContext, queries: QueryBinder, parent: Scope | None = None) -> None:
        self.context = context
        self.queries = queries
        self.parent = parent
        self.sources = Sources()
        self.left: list[tuple[Sources, bool]] = []
        self.known: list[Source] = []
        self.windows: dict[str, exp.Window] = {}
        self.ctes: dict[str, CommonTable] = {}
        self.lateral_active = False

    @property
    def parameters(self) -> ParameterTypes:
        return self.context.parameters

    def bind_subquery(self, tree: exp.Expression) -> tuple[Node, tuple[str, ...]]:
        """Plan a query nested in an expression here; see `QueryBinder.bind_subquery`."""
        return self.queries.bind_subquery(tree, self)

    def levels(self) -> Iterator[Scope]:
        """Yield this scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def common_table(self, name: str) -> CommonTable | None:
        """Return the innermost WITH item of that name; None if the name refers to a table of the catalog."""
        return next((s.ctes[name] for s in self.levels() if name in s.ctes and s.ctes[name].available), None)

    def add(self, source: Source) -> None:
        """Register a FROM item. Its columns become this level's own, even if they came from a query inside it."""
        self.known.append(source)
        for column in (*source.columns, *source.system):
            for part in column.expr.walk():
                if isinstance(part, ColumnRef):
                    self.context.owners[part.column.id] = self

    # -- columns -------------------------------------------------------------------------------------------------

    def resolve_column(self, parts: Sequence[exp.Identifier]) -> Expr:
        """Return the column, or whole row, that a dotted name refers to: a `ColumnRef`, the merged column of a join,
        or a `Row`.

        Raises UndefinedColumn, AmbiguousColumn, UndefinedTable or InvalidColumnReference with the name's position.
        """
        names = [p.name for p in parts]
        at = position(parts[0])
        if len(names) == 1:
            found = self._bare(names[0], at)
        elif len(names) <= 3:
            found = self._resolve_qualified(names[-3] if len(names) == 3 else None, names[-2], names[-1], at)
        elif len(names) == 4 and names[0] == self.context.database:
            found = self._resolve_qualified(names[1], names[2], names[3], at)
        else:
            self._too_many(names, at)
        self.context.accesses.note(found)
        return replace(found, position=at)

    def star(self, parts: Sequence[exp.Identifier], at: int) -> tuple[SourceColumn, ...]:
        """Return the columns of `*` (no parts) or of `name.*`."""
        if not parts:
            return self._note_columns(self.sources.columns())
        source = self.find_source(parts)
        if source is None:
            self._missing_source([p.name for p in parts][-1], position(parts[0]))
        return self._note_columns(source.columns)

    def _note_columns(self, columns: tuple[SourceColumn, ...]) -> tuple[SourceColumn, ...]:
        for column in columns:
            self.context.accesses.note(column.expr)
        return columns

    def has_column(self, name: str, at: int) -> bool:
        """Return whether a bare name is a column of this level. Raises AmbiguousColumn."""
        return self._bare_here(name, at) is not None

    def describe(self, column: Column) -> str:
        """Return a column of this level as messages name it: `relation.column`."""
        for source in self.known:
            for offered in source.columns:
                if not source.join and isinstance(offered.expr, ColumnRef) and offered.expr.column == column:
                    return f"{source.name}.{offered.name}"
        return column.name

    def find_source(self, parts: Sequence[exp.Identifier]) -> Source | None:
        """Return the FROM item that `name` or `schema.name` refers to, at any level."""
        names = [p.name for p in parts]
        if len(names) == 3 and names[0] == self.context.database:
            names = names[1:]
        if len(names) > 2:
            self._too_many(names, position(parts[0]))
        return self._source(names[-2] if len(names) == 2 else None, names[-1], position(parts[0]))

    def _bare(self, name: str, at: int) -> Expr:
        for scope in self.levels():
            found = scope._bare_here(name, at)
            if found is not None:
                return found
        source = self._source(None, name, at)
        if source is None:
            self._missing_column(None, name, at)
        return source.whole_row()

    def _bare_here(self, name: str, at: int) -> Expr | None:
        found: Expr | None = None
        for sources, allowed in self._in_sight():
            for source in sources.list_offering():
                hit = source.find(name, at)
                if hit is None:
                    continue
                if found is not None:
                    raise AmbiguousColumn(f'column reference "{name}" is ambiguous', position=cursor(at))
                _require_allowed(source, allowed, at)
                found = hit
        return found

    def _in_sight(self) -> Iterator[tuple[Sources, bool]]:
        """Yield the sources that names may refer to at this level, each with whether the reference is allowed."""
        yield self.sources, True
        if self.lateral_active:
            yield from self.left

    def _resolve_qualified(self, schema: str | None, relation: str, name: str, at: int) -> Expr:
        source = self._source(schema, relation, at)
        if source is None:
            self._missing_source(relation, at)
        found = source.find(name, at)
        if found is None:
            self._missing_column(relation, name, at)
        return found

    def _source(self, schema: str | None, name: str, at: int) -> Source | None:
        for scope in self.levels():
            hits = [
                (source, allowed)
                for sources, allowed in scope._in_sight()
                for source in sources.find_named(name)
                if schema is None or source.schema == schema
            ]
            if len(hits) > 1:
                raise AmbiguousAlias(f'table reference "{name}" is ambiguous', position=cursor(at))
            if hits:
                source, allowed = hits[0]
                _require_allowed(source, allowed, at)
                return source
        return None

    def _too_many(self, names: Sequence[str], at: int) -> NoReturn:
        dotted = ".".join(names)
        if len(names) in (3, 4):
            raise FeatureNotSupported(f"cross-database references are not implemented: {dotted}", position=cursor(at))
        raise SqlSyntaxError(f"improper qualified name (too many dotted names): {dotted}", position=cursor(at))

    def _missing_source(self, name: str, at: int) -> NoReturn:
        """Raise the error for a relation that is not in FROM (errorMissingRTE)."""
        candidates = (s for scope in self.levels() for s in scope.known if not s.join)
        meant = next((s for s in candidates if name in (s.name, s.relation)), None)
        if meant is None:
            raise UndefinedTable(f'missing FROM-clause entry for table "{name}"', position=cursor(at))
        message = f'invalid reference to FROM-clause entry for table "{name}"'
        hint = f'There is an entry for table "{name}", but it cannot be referenced from this part of the query.'
        if meant.name != name and self._source(None, meant.name, at) is not None:
            hint = f'Perhaps you meant to reference the table alias "{meant.name}".'
        raise UndefinedTable(message, hint=hint, position=cursor(at))

    def _missing_column(self, relation: str | None, name: str, at: int) -> NoReturn:
        """Raise the error for a missing column (errorMissingColumn)."""
        scoped = [s for scope in self.levels() for s in scope.known if relation in (None, s.name)]
        if name == "ctid" and any(source.placed for source in scoped):
            raise FeatureNotSupported("not supported: the system column ctid", position=cursor(at))
        message = f'column "{name}" does not exist' if relation is None else f"column {relation}.{name} does not exist"
        known = [(s.name, [c.name for c in s.columns]) for scope in self.levels() for s in scope.known if not s.join]
        raise UndefinedColumn(message, hint=column_hint(relation, name, known), position=cursor(at))

    # -- windows -------------------------------------------------------------------------------------------------

    def resolve_window(self, node: exp.Window) -> exp.Window:
        """Return an OVER clause with the clauses of the named window filled in: partition_by, order and spec as they
        apply.

        Raises UndefinedObject or WindowingError (transformWindowDefinitions).
        """
        name = node.args.get("alias")
        if name is None:
            return node
        base = self.windows.get(name.name)
        if base is None:
            raise UndefinedObject(f'window "{name.name}" does not exist', position=cursor(position(node)))
        return merge_window(node, base)


def _require_allowed(source: Source, allowed: bool, at: int) -> None:
    if not allowed:
        raise InvalidColumnReference(
            f'invalid reference to FROM-clause entry for table "{source.name}"',
            detail="The combining JOIN type must be INNER or LEFT for a LATERAL reference.",
            position=cursor(at),
        )


def merge_window(node: exp.Window, base: exp.Window) -> exp.Window:
    """Return `node`, which names the window `base` (resolved already), with the clauses that it inherits.

    `OVER w` is `w` itself; `OVER (w ...)` may add an ORDER BY and a frame. Raises WindowingError.
    """
    name = node.args["alias"]
    at = cursor(position(node))
    merged = node.copy()
    merged.set("alias", None)
    for key in ("partition_by", "order", "spec"):
        inherited = base.args.get(key)
        own = node.args.get(key)
        if own and key == "partition_by":
            raise WindowingError(f'cannot override PARTITION BY clause of window "{name.name}"', position=at)
        if own and inherited and key == "order":
            raise WindowingError(f'cannot override ORDER BY clause of window "{name.name}"', position=at)
        if inherited and key == "spec" and not is_bare_window(node):
            hint = None if own or node.args.get("order") else "Omit the parentheses in this OVER clause."
            message = f'cannot copy window "{name.name}" because it has a frame clause'
            raise WindowingError(message, hint=hint, position=at)
        if inherited and not own:
            merged.set(key, [e.copy() for e in inherited] if isinstance(inherited, list) else inherited.copy())
    return merged


def is_bare_window(node: exp.Window) -> bool:
    """Return whether the window was written `OVER name`, without parentheses."""
    return bool(node.meta.get("bare"))

"""CREATE DOMAIN and ALTER DOMAIN. No file is touched: a column of a domain is stored as a column of the domain's base
type, and values written to it are checked (`engine.sql.binder.domains`).

Source: PostgreSQL 15, typecmds.c (DefineDomain, AlterDomainDefault, AlterDomainNotNull, AlterDomainAddConstraint,
validateDomainConstraint, domainAddConstraint).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from engine.catalog.model.objects import Table, TableColumn
from engine.catalog.model.user_types import CompositeType, DomainCheck, DomainType, type_of, users
from engine.common import sql_type as st
from engine.sql.binder.definitions import bind_default, bind_domain_check, without_position
from engine.sql.binder.type_names import domain_named, resolve_type
from engine.sql.deparse.defaults import is_null_constant, printed_default, printed_null
from engine.sql.deparse.stored_text import read_formula
from engine.sql.parser.nodes import domains as d
from engine.sql.parser.nodes.statements import Formula, RenameRelation, SetSchema
from engine.statements.ddl.constraint_scan import Question, breaks_domain, null_in_domain
from engine.statements.ddl.named_types import put_elsewhere, put_renamed, schema_of_new_type
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import Names, pg_type_named
from wire.errors import DatatypeMismatch, DuplicateObject, FeatureNotSupported, UndefinedObject
from wire.types import pg_types as t


def create_domain(statement: d.CreateDomain, definer: Definer) -> None:
    """Create a domain. Raises DuplicateObject, DatatypeMismatch, and the errors of its type, default and checks."""
    name, catalog = statement.name, definer.catalog
    schema = schema_of_new_type(name, definer)
    with without_position():
        catalog.objects.put_type(_make_domain(statement, schema, definer))


def _make_domain(statement: d.CreateDomain, schema: str, definer: Definer) -> DomainType:
    name, catalog = statement.name.name, definer.catalog
    typ = resolve_type(statement.type, definer.notify, definer.user_type)
    under = domain_named(statement.type, definer.user_type)
    if typ.pg.category == "P":
        raise DatatypeMismatch(f'"{typ.pg.sql_name}" is not a valid base type for a domain')
    if users(typ.pg):
        raise FeatureNotSupported(f"not supported: a domain of type {typ.pg.sql_name}")
    made = DomainType(
        catalog.objects.new_oid(), catalog.objects.new_oid(), schema, name, (under or typ.pg).oid, -1 if under else typ.typmod,
        statement.not_null,
    )  # fmt: skip
    made = replace(made, default=_default(statement.default, made, typ, definer))
    for check in statement.checks:
        made = _with_check(made, check, typ, definer)
    return made


def _default(written: Formula | None, domain: DomainType, typ: st.SqlType, definer: Definer) -> str | None:
    """Return a domain's default as it is stored. typ: the type below all domains."""
    if written is None:
        return None
    bound = bind_default(written.tree, domain.name, typ, definer.context())
    if is_null_constant(written.tree, bound, typ):
        return printed_null(typ, is_domain=domain.under not in t.BY_OID)
    return definer.storage_text(printed_default(written.tree, written.text.strip(), bound, typ))


def _with_check(
    domain: DomainType, written: d.DomainConstraint, typ: st.SqlType, definer: Definer, *, valid: bool = True
) -> DomainType:
    bind_domain_check(written.formula.tree, typ, definer.context())
    taken = {check.name for check in domain.checks}
    name = written.name or Names.free(domain.name, "", "check", taken)
    if name in taken:
        raise DuplicateObject(f'constraint "{name}" for domain "{domain.name}" already exists')
    made = DomainCheck(definer.catalog.objects.new_oid(), name, definer.storage_text(written.formula.text), valid=valid)
    return replace(domain, checks=(*domain.checks, made))


def alter_domain(statement: d.AlterDomain, definer: Definer) -> tuple[Question, ...]:
    """Alter a domain, and return the questions that existing rows must pass. Raises UndefinedObject, WrongObjectType,
    DuplicateObject."""
    domain = definer.domain(statement.name)
    definer.authority.require_owner(domain, "type")
    match statement.action:
        case RenameRelation(to=to):
            put_renamed(domain, to, definer)
        case SetSchema(schema=schema):
            put_elsewhere(domain, schema, definer)
        case action:
            typ = _below(domain, definer)
            with without_position():
                altered = _apply_action(domain, action, typ, definer)
            _require_not_inside(domain, action, definer)
            definer.catalog.objects.put_type(altered, domain)
            return tuple(_questions(domain, action, definer))
    return ()


def _below(domain: DomainType, definer: Definer) -> st.SqlType:
    found = pg_type_named(definer.snapshot, domain.schema, domain.name, definer.search_path)
    assert found is not None, "a domain that was found is there"
    return st.of(t.base_of(found), t.base_typmod(found))


def _apply_action(domain: DomainType, action: object, typ: st.SqlType, definer: Definer) -> DomainType:
    match action:
        case d.SetDomainDefault(formula=formula):
            return replace(domain, default=_default(formula, domain, typ, definer))
        case d.SetDomainNotNull(not_null=not_null):
            return replace(domain, not_null=not_null)
        case d.AddDomainCheck(check=check, valid=valid):
            return _with_check(domain, check, typ, definer, valid=valid)
        case d.ValidateDomainConstraint(name=name):
            _require_check(domain, name, "of domain")
            validated = (replace(check, valid=True) if check.name == name else check for check in domain.checks)
            return replace(domain, checks=tuple(validated))
        case d.RenameDomainConstraint(name=name, to=to):
            _require_check(domain, name)
            if any(check.name == to for check in domain.checks):
                raise DuplicateObject(f'constraint "{to}" for domain {domain.name} already exists')
            renamed = (replace(check, name=to) if check.name == name else check for check in domain.checks)
            return replace(domain, checks=tuple(renamed))
        case d.DropDomainConstraint(name=name, if_exists=if_exists):
            if if_exists and not any(check.name == name for check in domain.checks):
                definer.notify(f'constraint "{name}" of domain "{domain.name}" does not exist, skipping')
                return domain
            _require_check(domain, name, "of domain")
            return replace(domain, checks=tuple(check for check in domain.checks if check.name != name))
    raise AssertionError(f"no action on domains: {action}")


def _require_check(domain: DomainType, name: str, of: str = "for domain") -> None:
    if not any(check.name == name for check in domain.checks):
        shown = f'"{domain.name}"' if of == "of domain" else domain.name
        raise UndefinedObject(f'constraint "{name}" {of} {shown} does not exist')


def _questions(domain: DomainType, action: object, definer: Definer) -> Iterator[Question]:
    match action:
        case d.SetDomainNotNull(not_null=True) if not domain.not_null:
            for table, column in _columns(domain, definer):
                yield null_in_domain(table, column)
        case d.AddDomainCheck(check=check, valid=True):
            for table, column in _columns(domain, definer):
                yield breaks_domain(table, column, _column_for_value(check.formula.tree, column))
        case d.ValidateDomainConstraint(name=name):
            for there in (check for check in domain.checks if check.name == name and not check.valid):
                for table, column in _columns(domain, definer):
                    yield breaks_domain(table, column, _column_for_value(read_formula(there.expression), column))


def _require_not_inside(domain: DomainType, action: object, definer: Definer) -> None:
    """Refuse a new constraint if a column contains the domain within an array or a composite value, because constraints
    are checked for columns only. PostgreSQL refuses it if a table has such a column, unless existing rows are not
    checked; here it is also refused if a composite type contains the domain.
    """
    match action:
        case d.SetDomainNotNull(not_null=True) if not domain.not_null:
            asks = True
        case d.AddDomainCheck(valid=valid):
            asks = valid
        case d.ValidateDomainConstraint(name=name):
            asks = any(check.name == name and not check.valid for check in domain.checks)
        case _:
            return
    of = type_of(definer.snapshot.types)
    for table in definer.snapshot.tables() if asks else ():
        for column in table.columns:
            if column.declared_type.oid in t.BY_OID:
                continue
            for name in _inside(of(column.declared_type.oid), domain):
                raise FeatureNotSupported(
                    f'cannot alter type "{name}" because column "{table.name}.{column.name}" uses it'
                )
    for typ in definer.snapshot.types.values():
        if isinstance(typ, CompositeType) and any(_inside(of(typ.oid), domain)):
            raise FeatureNotSupported(
                f'not supported: a constraint of type "{domain.name}", which type "{typ.name}" uses'
            )


def _inside(typ: t.PgType, domain: DomainType) -> Iterator[str]:
    """Yield the names of the types within a type that are the domain, or that are based on it."""
    for part in (*(item.type for item in typ.attributes), *filter(None, (typ.element_type,))):
        if _is_made_of(part, domain):
            yield part.sql_name
        yield from _inside(part, domain)


def _is_made_of(typ: t.PgType, domain: DomainType) -> bool:
    under: t.PgType | None = typ
    while under is not None:
        if under.oid == domain.oid:
            return True
        under = under.domain.under if under.domain is not None else None
    return False


def _columns(domain: DomainType, definer: Definer) -> Iterator[tuple[Table, TableColumn]]:
    """Yield the columns of stored tables whose type is the domain, or one that is based on it."""
    for table in definer.snapshot.tables():
        for column in table.columns:
            typ = column.domain
            while typ is not None and typ.domain is not None:
                if typ.oid == domain.oid and table.storage is not None:
                    yield table, column
                typ = typ.domain.under


def _column_for_value(condition: exp.Expression, column: TableColumn) -> exp.Expression:
    named = exp.Column(this=exp.Identifier(this=column.name, quoted=True))
    return condition.copy().transform(
        lambda node: named.copy() if isinstance(node, exp.Column) and node.name == "value" else node
    )

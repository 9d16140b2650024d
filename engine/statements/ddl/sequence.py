"""CREATE and ALTER SEQUENCE, and the sequences of serial and identity columns (sequence.c: init_params, process_owned_by)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Sequence, Table
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.sql.binder.type_names import resolve_type
from engine.sql.parser.nodes.statements import AlterSequence, CreateSequence, SequenceOptions
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import Names
from engine.statements.shared.restarted_sequences import restart_sequence
from wire.dataclass import dataclass
from wire.errors import (
    DuplicateTable,
    FeatureNotSupported,
    InvalidParameterValue,
    ObjectNotInPrerequisiteState,
    UndefinedColumn,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

_BITS: Final = {t.INT2: 15, t.INT4: 31, t.INT8: 63}


@dataclass(frozen=True, slots=True)
class _Bounds:
    minimum: int
    maximum: int


def create_sequence(statement: CreateSequence, definer: Definer) -> None:
    """Run CREATE SEQUENCE. Raises DuplicateTable, InvalidParameterValue and the errors of OWNED BY."""
    schema = definer.schema_of_new(statement.name, statement.temporary)
    name = statement.name.name
    if Names(definer.snapshot, schema).has_relation(name):
        if not statement.if_not_exists:
            raise DuplicateTable(f'relation "{name}" already exists')
        definer.notify(f'relation "{name}" already exists, skipping')
        return
    definer.catalog.objects.put(new_sequence(schema, name, statement.options, st.of(t.INT8), definer))


def new_sequence(schema: str, name: str, options: SequenceOptions, typ: SqlType, definer: Definer) -> Sequence:
    """Make a sequence at its start. typ: its type if AS gives none."""
    if options.type is not None:
        typ = resolve_type(options.type)
        if typ.pg not in _BITS:
            raise InvalidParameterValue("sequence type must be smallint, integer, or bigint")
    increment = _increment(options, 1)
    natural = _natural(typ, increment)
    minimum = options.minimum if isinstance(options.minimum, int) else natural.minimum
    maximum = options.maximum if isinstance(options.maximum, int) else natural.maximum
    _check_bounds(typ, minimum, maximum)
    start = options.start if options.start is not None else (minimum if increment > 0 else maximum)
    oid = definer.catalog.objects.new_oid()
    made = Sequence(
        oid, schema, name, typ, start, increment, minimum, maximum, _cache(options, 1), bool(options.cycle),
        counter=oid, first=start,
    )  # fmt: skip
    _check_within(made, "START", start)
    if isinstance(options.restart, int):
        _check_within(made, "RESTART", options.restart)
        made = replace(made, first=options.restart)
    return with_owner(made, options, definer)


def alter_sequence(statement: AlterSequence, definer: Definer) -> None:
    """Run ALTER SEQUENCE. Raises UndefinedTable, WrongObjectType, InvalidParameterValue."""
    found = definer.resolve(statement.name)
    if found is None and statement.if_exists:
        definer.notify(f'relation "{statement.name.name}" does not exist, skipping')
        return
    sequence = definer.sequence(statement.name)
    definer.authority.require_owner(sequence, "sequence")
    definer.catalog.objects.put(
        with_owner(apply_options(sequence, statement.options, definer), statement.options, definer), replacing=True
    )


def apply_options(sequence: Sequence, options: SequenceOptions, definer: Definer) -> Sequence:
    """Return the sequence with other options. It continues from its current value, unless RESTART is given."""
    typ = resolve_type(options.type) if options.type is not None else sequence.type
    if typ.pg not in _BITS:
        raise InvalidParameterValue("sequence type must be smallint, integer, or bigint")
    increment = _increment(options, sequence.increment)
    before, natural = _natural(sequence.type, sequence.increment), _natural(typ, increment)
    retyped = typ.pg is not sequence.type.pg
    minimum = _bound(options.minimum, sequence.minimum, before.minimum, natural.minimum, retyped)
    maximum = _bound(options.maximum, sequence.maximum, before.maximum, natural.maximum, retyped)
    _check_bounds(typ, minimum, maximum)
    made = replace(
        sequence, type=typ, increment=increment, minimum=minimum, maximum=maximum,
        start=sequence.start if options.start is None else options.start, cache=_cache(options, sequence.cache),
        cycle=sequence.cycle if options.cycle is None else options.cycle,
    )  # fmt: skip
    _check_within(made, "START", made.start)
    if options.restart is not None:
        first = options.restart if isinstance(options.restart, int) else made.start
        _check_within(made, "RESTART", first)
        return restart_sequence(made, first, definer.catalog)
    at = definer.sequences.stands(sequence)
    _check_within(made, "RESTART", at)
    return made


def with_owner(sequence: Sequence, options: SequenceOptions, definer: Definer) -> Sequence:
    """Return the sequence with the owner of OWNED BY, if that is given."""
    if options.owned_by is None:
        return sequence
    if sequence.internal:
        raise FeatureNotSupported("cannot change ownership of identity sequence")
    if not options.owned_by:
        return replace(sequence, owner=None)
    name, column_name = options.owned_by
    table = definer.resolve(name)
    if table is None:
        raise UndefinedTable(f'relation "{name}" does not exist')
    if not isinstance(table, Table):
        raise WrongObjectType(f'sequence cannot be owned by relation "{table.name}"')
    owner_of = definer.snapshot.rights.of
    if not definer.authority.owns(table) or (
        definer.snapshot.relations.get((sequence.schema, sequence.name)) is not None
        and owner_of(table.oid).owner != owner_of(sequence.oid).owner
    ):
        raise ObjectNotInPrerequisiteState("sequence must have same owner as table it is linked to")
    if table.schema != sequence.schema:
        raise ObjectNotInPrerequisiteState("sequence must be in same schema as table it is linked to")
    column = table.column(column_name)
    if column is None:
        raise UndefinedColumn(f'column "{column_name}" of relation "{table.name}" does not exist')
    return replace(sequence, owner=(table.oid, column.number))


def _increment(options: SequenceOptions, default: int) -> int:
    if options.increment == 0:
        raise InvalidParameterValue("INCREMENT must not be zero")
    return default if options.increment is None else options.increment


def _cache(options: SequenceOptions, default: int) -> int:
    if options.cache is not None and options.cache <= 0:
        raise InvalidParameterValue(f"CACHE ({options.cache}) must be greater than zero")
    return default if options.cache is None else options.cache


def _natural(typ: SqlType, increment: int) -> _Bounds:
    """Return the bounds of a sequence without MINVALUE and MAXVALUE."""
    limit = 1 << _BITS[typ.pg]
    return _Bounds(1, limit - 1) if increment > 0 else _Bounds(-limit, -1)


def _bound(said: object, now: int, before: int, natural: int, retyped: bool) -> int:
    """Return a bound after ALTER: a bound that comes from the type changes with the type, a bound that was given
    explicitly stays.
    """
    if isinstance(said, int):
        return said
    return natural if said == "no" or (retyped and now == before) else now


def _check_bounds(typ: SqlType, minimum: int, maximum: int) -> None:
    limit = 1 << _BITS[typ.pg]
    for word, value in (("MAXVALUE", maximum), ("MINVALUE", minimum)):
        if not -limit <= value < limit:
            raise InvalidParameterValue(f"{word} ({value}) is out of range for sequence data type {typ}")
    if minimum >= maximum:
        raise InvalidParameterValue(f"MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})")


def _check_within(sequence: Sequence, word: str, value: int) -> None:
    if value < sequence.minimum:
        raise InvalidParameterValue(f"{word} value ({value}) cannot be less than MINVALUE ({sequence.minimum})")
    if value > sequence.maximum:
        raise InvalidParameterValue(f"{word} value ({value}) cannot be greater than MAXVALUE ({sequence.maximum})")

"""Another system's Delta table: columns, partition columns and active files of a version, through `deltalake`.

A reader feature of Delta's protocol means that readers without it would return wrong rows, so features that are not
known here are refused by name. A listed feature says only that the table may use it: `deltalake` lists deletion vectors
and variants in every table that has deletion vectors enabled. The following are read:

- features that change nothing for a reader of the active files: v2 checkpoints, vacuum's protocol check, in-commit timestamps,
  timestamps without a zone;
- deletion vectors: `deltalake` returns them, and both engines skip the rows that they name (`LakeState.deleted`);
- type widening, as long as no column was widened: files from before a widening have the narrower type;
- variants, shredded or not: a column of such a type, or one with such a type inside it, has no type here (`LakeColumn.type`);
- column mapping by name, for which `TableColumn.stored` exists. Mapping by id would need the ids in the files' footers.

Tables whose commits a catalog keeps (catalogManaged) are refused: the log in the folder need not have all of them.

Values of partition columns are read from the names of folders (`engine.catalog.model.partitions`), whereas Delta's
authority is its log. All writers name folders in this way, but need not: the two are compared for every version, and a
table where they differ is refused.

A version that was read is cached. Checking whether it is still the newest costs a `stat` of the log's folder, because a
commit adds a file to it. File systems' clocks have a resolution of milliseconds, so a folder that changed a moment ago
is read again. In an object store the log is opened for each statement.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, VariantType
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.schema import ArrayType, MapType, PrimitiveType, StructType

from engine.catalog.model import partitions
from engine.catalog.model.file_types import FileType
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.lakes import stores
from engine.lakes.file_stamps import is_settled
from engine.lakes.state import LakeColumn, LakeState, digest, lake_column
from wire.errors import DataCorrupted, FeatureNotSupported, InvalidParameterValue, UndefinedFile

LOG: Final = "_delta_log"
_KNOWN: Final = frozenset(
    (
        "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "inCommitTimestamp", "deletionVectors", "columnMapping",
        "typeWidening", "typeWidening-preview", "variantType", "variantType-preview", "variantShredding",
        "variantShredding-preview",
    )
)  # fmt: skip
#: The metadata key of a column that was widened, or that contains a widened type (Delta's protocol).
_WIDENED: Final = "delta.typeChanges"
#: The text with which the library reports a feature that it lacks.
_LACKED: Final = re.compile(r"Feature '([^']+)' is not supported")
_OF_CATALOG: Final = "catalog-managed table"
#: The maximal bytes of a version's bitmaps: they are a part of each statement that reads it.
_BITMAPS_BYTES: Final = 8 << 20
_PURGE: Final = "Its owner can write them into the files: REORG TABLE ... APPLY (PURGE)."
_NEWEST: Final = 256
_MAPPING: Final = "delta.columnMapping."
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Stamp = tuple[int, int]
#: States by path, id of the table and version number.
_STATES: Final[WeightedLruCache[tuple[str, str, int], LakeState]] = WeightedLruCache(
    256, family=lambda key: key[0], each=8
)


class _Newest:
    """A cache of the newest state of each path, with the stamp that its log had then. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Stamp, LakeState]] = OrderedDict()

    def get(self, path: str, stamp: Stamp) -> LakeState | None:
        with self._lock:
            known = self._known.get(path)
            return known[1] if known is not None and known[0] == stamp else None

    def put(self, path: str, stamp: Stamp, state: LakeState) -> None:
        with self._lock:
            self._known[path] = (stamp, state)
            self._known.move_to_end(path)
            if len(self._known) > _NEWEST:
                self._known.popitem(last=False)


_NEWEST_STATES: Final = _Newest()


def is_delta(path: str) -> bool:
    """Return whether a folder is a Delta table."""
    if stores.is_remote(path):
        return bool(stores.list_files(f"{path}/{LOG}"))
    return os.path.isdir(os.path.join(path, LOG))


def newest(path: str) -> LakeState:
    """Return the newest version. May block. Raises UndefinedFile, DataCorrupted, FeatureNotSupported."""
    stamp = _stamp(path)
    known = None if stamp is None else _NEWEST_STATES.get(path, stamp)
    if known is not None:
        return known
    state = _state(path, _open(path))
    if stamp is not None and is_settled(stamp[0]):
        _NEWEST_STATES.put(path, stamp, state)
    return state


def at_version(path: str, number: int) -> LakeState:
    """Return a version. May block. Raises InvalidParameterValue for one that does not exist or whose files are gone,
    and the errors of `newest`.
    """
    last = newest(path).number
    if not 0 <= number <= last:
        raise InvalidParameterValue(
            f'the Delta table at "{path}" has no version {number}', detail=f"Its newest version is {last}."
        )
    try:
        state = _state(path, _open(path, number))
    except DataCorrupted as error:
        raise InvalidParameterValue(
            f'version {number} of the Delta table at "{path}" is not there any more', detail=error.message
        ) from error
    lost = len(_lost(path, state.files))
    if lost:
        raise InvalidParameterValue(
            f'version {number} of the Delta table at "{path}" is not there any more',
            detail=f"{lost} of its {len(state.files)} files are gone.",
        )
    return state


def _lost(path: str, files: Sequence[str]) -> Sequence[str]:
    """Return the files that no longer exist."""
    if stores.is_remote(path):
        present = {file.path for file in stores.list_files(path)}
        return [file for file in files if file not in present]
    return [file for file in files if not os.path.exists(file)]


def at_time(path: str, micros: int) -> LakeState:
    """Return the version that was the newest at a moment, in microseconds since 1970. Raises as `at_version`."""
    history = _open(path).history()
    times = {entry["version"]: entry["timestamp"] for entry in history if "timestamp" in entry}
    found = max((number for number, made in times.items() if made * 1000 <= micros), default=None)
    if found is None:
        detail = "Its log has no times."
        if times:
            first = min(times)
            moment = _EPOCH + dt.timedelta(milliseconds=times[first])
            detail = f"The first that its log knows is {first}, of {moment:%Y-%m-%d %H:%M:%S.%f+00}."
        raise InvalidParameterValue(f'the Delta table at "{path}" has no version of that time', detail=detail)
    return at_version(path, found)


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(os.path.join(path, LOG))
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def _open(path: str, version: int | None = None) -> DeltaTable:
    try:
        return DeltaTable(path, version=version, storage_options=stores.delta_options(path))
    except TableNotFoundError as error:
        raise UndefinedFile(f'could not read a Delta table at "{path}": there is none') from error
    except (DeltaError, OSError) as error:
        reason = str(error).splitlines()[0]
        if lacked := _LACKED.search(reason):
            raise _unsupported_feature(path, f"the table feature {lacked[1]}") from error
        if _OF_CATALOG in reason:
            raise _unsupported_feature(path, "commits that a catalog keeps (catalogManaged)") from error
        raise DataCorrupted(f'could not read the Delta table at "{path}": {reason}') from error


def _state(path: str, table: DeltaTable) -> LakeState:
    metadata = table.metadata()
    key = (path, str(metadata.id), table.version())
    return _STATES.get(key, lambda: _read(path, table, digest(*map(str, key))))


def _read(path: str, table: DeltaTable, number: int) -> LakeState:
    mapping = _require_readable(path, table)
    columns = {column.stored: column for column in _columns(table, mapping)}
    by_name = {column.name: column for column in columns.values()}
    partition_by = tuple(by_name[name].stored for name in table.metadata().partition_columns)
    actions = pa.table(table.get_add_actions(flatten=False))
    files = _files(path, actions["path"].to_pylist())
    _require_as_in_folders(path, files, [by_name[name] for name in table.metadata().partition_columns], actions)
    deleted = (
        _deletion_bitmaps(path, table, files) if "deletionVectors" in (table.protocol().reader_features or ()) else ()
    )
    return LakeState("Delta", table.version(), number, columns, partition_by, tuple(sorted(files)), deleted)


def _require_readable(path: str, table: DeltaTable) -> bool:
    """Return whether columns are mapped. Raises FeatureNotSupported for features with which a reader of the active
    files would be wrong.
    """
    protocol = table.protocol()
    features = frozenset(protocol.reader_features or ())
    for feature in sorted(features - _KNOWN):
        raise _unsupported_feature(path, f"the reader feature {feature}")
    if protocol.min_reader_version > 3:
        raise _unsupported_feature(path, f"reader version {protocol.min_reader_version}")
    for field in table.schema().fields:
        if _was_widened(field.metadata, field.type):
            raise _unsupported_feature(path, f'column "{field.name}", whose type was widened (typeWidening),')
    mode = table.metadata().configuration.get(f"{_MAPPING}mode", "none")
    if mode not in ("none", "name"):
        raise _unsupported_feature(path, f"column mapping by {mode}")
    return mode == "name"


def _deletion_bitmaps(path: str, table: DeltaTable, files: Sequence[str]) -> tuple[tuple[str, bytes], ...]:
    """Return the active files that have a deletion vector, each with a bitmap of the deleted rows.

    Raises DataCorrupted for a vector that cannot be read, FeatureNotSupported if there are more of them than a
    statement can carry.
    """
    by_place = {file[len(path.rstrip("/")) :]: file for file in files}
    bitmaps: list[tuple[str, bytes]] = []
    size = 0
    try:
        for batch in table.deletion_vectors():
            rows = pa.record_batch(batch)
            for place, kept in zip(rows["filepath"].to_pylist(), rows["selection_vector"], strict=True):
                bitmap = _bitmap(kept.values)
                if bitmap and stores.is_remote(path):
                    # Deleted rows are matched by the engine's name of their file, which is tested only for local files.
                    raise _unsupported_feature(path, "deletion vectors in an object store", _PURGE)
                size += len(bitmap)
                if size > _BITMAPS_BYTES:
                    raise _unsupported_feature(
                        path, f"deletion vectors over more than {8 * _BITMAPS_BYTES} rows", _PURGE
                    )
                bitmaps.append((_file_at(path, place, by_place), bitmap))
    except DeltaError as error:
        reason = str(error).splitlines()[0]
        raise DataCorrupted(f'could not read the deletion vectors of the Delta table at "{path}": {reason}') from error
    return tuple(sorted((file, bitmap) for file, bitmap in bitmaps if bitmap))


def _bitmap(kept: pa.BooleanArray) -> bytes:
    """Return a bitmap of the deleted rows, up to the last of them."""
    gone = np.packbits(~kept.to_numpy(zero_copy_only=False))
    return gone.tobytes().rstrip(b"\0")


def _file_at(path: str, place: str, by_place: Mapping[str, str]) -> str:
    """Return the active file whose URI is `place`. by_place: the files, by the rest of their paths after the table's
    folder.
    """
    whole = unquote(place)
    start = whole.find("/", whole.find("://") + 3 if "://" in whole else 0)
    while start != -1:
        if (file := by_place.get(whole[start:])) is not None:
            return file
        start = whole.find("/", start + 1)
    raise _unsupported_feature(path, f'the deletion vector of a file that is not active ("{place}")')


def _inside(typ: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield the metadata and type of each part of a Delta type, including the type itself."""
    yield {}, typ
    if isinstance(typ, StructType):
        for field in typ.fields:
            yield field.metadata, None
            yield from _inside(field.type)
    elif isinstance(typ, ArrayType):
        yield from _inside(typ.element_type)
    elif isinstance(typ, MapType):
        yield from _inside(typ.key_type)
        yield from _inside(typ.value_type)


def _was_widened(metadata: Mapping[str, Any], typ: Any) -> bool:
    return _WIDENED in metadata or any(_WIDENED in told for told, _ in _inside(typ))


def _is_plain(typ: Any) -> bool:
    """Return whether Arrow's type expresses a Delta type completely. It does not for a variant, nor for an interval,
    which is an integer.
    """
    return not any(
        isinstance(part, VariantType) or (isinstance(part, PrimitiveType) and part.type.startswith("interval"))
        for _, part in _inside(typ)
    )


def _columns(table: DeltaTable, mapping: bool) -> Sequence[LakeColumn]:
    arrow = pa.schema(table.schema().to_arrow())
    fields: Mapping[str, Any] = {field.name: field for field in table.schema().fields}
    return [_column(field, fields[field.name], mapping) for field in arrow]


def _column(arrow: pa.Field, field: Any, mapping: bool) -> LakeColumn:
    stored = field.metadata[f"{_MAPPING}physicalName"] if mapping else field.name
    if not _is_plain(field.type):
        return LakeColumn(field.name, stored, None, field.nullable, field.type.to_json().strip('"'))
    column = lake_column(field.name, stored, arrow.type, nullable=field.nullable)
    if not mapping or column.nested is None:
        return column
    return replace(column, nested=_with_physical_names(column.nested, field.type))


def _with_physical_names(nested: FileType, typ: Any) -> FileType:
    """Return the file type with the names that the files use for the fields of structs."""
    match nested.kind:
        case "list":
            inside: tuple[Any, ...] = (typ.element_type,)
        case "map":
            inside = (typ.key_type, typ.value_type)
        case "struct":
            inside = tuple(field.type for field in typ.fields)
        case "value":
            return nested
    parts = tuple(_with_physical_names(part, of) for part, of in zip(nested.parts, inside, strict=True))
    if nested.kind != "struct":
        return msgspec.structs.replace(nested, parts=parts)
    stored = tuple(field.metadata[f"{_MAPPING}physicalName"] for field in typ.fields)
    return msgspec.structs.replace(nested, parts=parts, stored=stored)


def _files(path: str, named: Sequence[str]) -> list[str]:
    """Return the files of the log's paths, which are percent-encoded and relative to the table's folder."""
    files = []
    for name in named:
        below = unquote(name)
        if "://" in name or below.startswith("/") or ".." in below.split("/"):
            raise _unsupported_feature(path, f'files outside of its folder ("{below}")')
        files.append(f"{path.rstrip('/')}/{below}")
    return files


def _require_as_in_folders(path: str, files: Sequence[str], columns: Sequence[LakeColumn], actions: pa.Table) -> None:
    """Raise FeatureNotSupported if the log has another value of a partition column than the names of the folders."""
    if not columns or not files:
        return
    values = actions["partition"].combine_chunks()
    for column in columns:
        if column.type is None or not partitions.may_hold(column.type):
            raise _unsupported_feature(path, f'partition column "{column.name}" of type {column.told}')
        raws = [partitions.raw_value(file, column.stored) for file in files]
        texts = [(raw and partitions.text_value(raw)) or None for raw in raws]
        logged = pc.struct_field(values, column.name)
        try:
            told = pa.array(texts, pa.utf8()).cast(logged.type)
        except pa.ArrowInvalid:
            told = None
        if None in raws or told is None or not told.equals(logged):
            raise _unsupported_feature(
                path, f'partition column "{column.name}" whose values the names of folders do not say'
            )


def _unsupported_feature(path: str, what: str, hint: str | None = None) -> FeatureNotSupported:
    return FeatureNotSupported(f'not supported: {what} in the Delta table at "{path}"', hint=hint)

"""Another system's Iceberg table: columns and data files of a snapshot, through `pyiceberg`.

A table is named by a file `....metadata.json`, which is one fixed version of it; by a folder with a
`version-hint.text`, as Hadoop's tables have one; or by a catalog of the configuration,
`iceberg://catalog/namespace.table`. Nothing else tells which of a folder's metadata files is the newest, and one may
belong to a failed commit, so it is not guessed.

Iceberg identifies columns by numbers, which files carry; Sluice finds them by their names. The two agree as long as no
column was renamed, changed its type, or took the name of another one. The metadata has all schemas that the table ever
had, so this can be checked, and a table where the two do not agree is refused. Also refused are delete files, files
other than Parquet, defaults of columns that were added later, and files that were imported by name, whose partition
columns may be in no file.

`FOR VERSION AS OF` takes a snapshot's number. A snapshot is read with the current columns, which is correct by the rule
above.

Rejected: reading by number (both engines can, with DuckDB's `schema` and Spark's `parquet.field.id`, but neither
reports a file without numbers); collecting the files of manifests here (delete files belong to data files by rules that
the library knows).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.lakes import stores
from engine.lakes.state import LakeColumn, LakeState, digest, lake_column
from wire.dataclass import dataclass
from wire.errors import (
    DataCorrupted,
    FeatureNotSupported,
    InvalidParameterValue,
    ObjectNotInPrerequisiteState,
    SqlError,
    UndefinedFile,
    UndefinedObject,
)

if TYPE_CHECKING:
    from pyiceberg.table import Table as IcebergTable

SCHEME: Final = "iceberg://"
#: The ending of the names of metadata files.
METADATA: Final = ".metadata.json"
_HINT: Final = "version-hint.text"
_NAME_MAPPING: Final = "schema.name-mapping.default"
#: States by metadata file and snapshot. A table's metadata files are in one folder.
_STATES: Final[WeightedLruCache[tuple[str, int], LakeState]] = WeightedLruCache(
    256, family=lambda key: key[0].rpartition("/")[0], each=8
)


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog of the configuration. properties: pyiceberg's (type, uri, warehouse, ...); some are secret."""

    name: str
    properties: Mapping[str, str] = field(repr=False, hash=False)


_CATALOGS: Final[dict[str, Catalog]] = {}


def register(catalogs: Sequence[Catalog]) -> None:
    """Register catalogs with the process. Raises ValueError if a name already belongs to another one."""
    for catalog in catalogs:
        if _CATALOGS.setdefault(catalog.name, catalog) != catalog:
            raise ValueError(f'catalog "{catalog.name}" is another one in this process already')


def path_of(catalog: str, table: str) -> str:
    """Return the path that denotes a catalog's table. Raises UndefinedObject for a catalog that is not configured."""
    if catalog not in _CATALOGS:
        raise UndefinedObject(
            f'catalog "{catalog}" is not configured', hint="The member's configuration names them under catalogs."
        )
    return f"{SCHEME}{catalog}/{table}"


def is_iceberg(path: str) -> bool:
    """Return whether a path is certainly an Iceberg table."""
    if path.startswith(SCHEME) or path.endswith(METADATA):
        return True
    if stores.is_remote(path):
        return bool(stores.list_files(f"{path}/metadata/{_HINT}"))
    return os.path.isfile(os.path.join(path, "metadata", _HINT))


def newest(path: str) -> LakeState:
    """Return the current snapshot. May block. Raises SqlError with the reason."""
    table = _open(path)
    snapshot = table.current_snapshot()
    return _state(path, table, None if snapshot is None else snapshot.snapshot_id)


def at_version(path: str, number: int) -> LakeState:
    """Return a snapshot by its number. May block. Raises InvalidParameterValue for one that does not exist, and the
    errors of `newest`.
    """
    table = _open(path)
    if table.snapshot_by_id(number) is None:
        known = ", ".join(str(snapshot.snapshot_id) for snapshot in table.snapshots()[-5:])
        raise InvalidParameterValue(
            f'the Iceberg table at "{path}" has no snapshot {number}', detail=f"Its last ones are {known}."
        )
    return _state(path, table, number)


def at_time(path: str, micros: int) -> LakeState:
    """Return the snapshot that was current at a moment, in microseconds since 1970. Raises as `at_version`."""
    table = _open(path)
    snapshot = table.snapshot_as_of_timestamp(micros // 1000)
    if snapshot is None:
        raise InvalidParameterValue(f'the Iceberg table at "{path}" has no snapshot of that time')
    return _state(path, table, snapshot.snapshot_id)


def _open(path: str) -> IcebergTable:
    from pyiceberg.exceptions import NoSuchTableError
    from pyiceberg.table import StaticTable

    try:
        if path.startswith(SCHEME):
            return _of_catalog(path)
        properties = stores.iceberg_options(path)
        return StaticTable.from_metadata(_metadata_file(path), properties)
    except (NoSuchTableError, FileNotFoundError) as error:
        raise UndefinedFile(f'could not read an Iceberg table at "{path}": there is none') from error
    except SqlError:
        raise
    except Exception as error:
        # A defect in a metadata file raises an error of the library that finds it.
        raise DataCorrupted(f'could not read the Iceberg table at "{path}": {_first_line(error)}') from error


def _of_catalog(path: str) -> IcebergTable:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    name, _, table = path.removeprefix(SCHEME).partition("/")
    catalog = _CATALOGS.get(name)
    if catalog is None:
        raise UndefinedObject(
            f'catalog "{name}" is not configured', hint="The member's configuration names them under catalogs."
        )
    try:
        # The table's metadata can be read without the catalog.
        with closing(load_catalog(name, **catalog.properties)) as opened:
            return opened.load_table(table)
    except NoSuchTableError:
        raise
    except Exception as error:
        # Each kind of catalog has its own errors (a database's, HTTP's); their texts may contain its address, with secrets.
        raise ObjectNotInPrerequisiteState(
            f'could not ask catalog "{name}" for table "{table}": {type(error).__name__}'
        ) from error


def _metadata_file(path: str) -> str:
    if path.endswith(METADATA):
        return path
    hint = f"{path}/metadata/{_HINT}"
    try:
        number = stores.text(hint).strip()
    except FileNotFoundError:
        raise ObjectNotInPrerequisiteState(
            f'which version of the Iceberg table at "{path}" is the newest is not known: it has no {_HINT}',
            hint="Name one of its files metadata/....metadata.json as the path, or the catalog that knows.",
        ) from None
    return f"{path}/metadata/v{number}{METADATA}" if number.isdecimal() else f"{path}/metadata/{number}{METADATA}"


def _state(path: str, table: IcebergTable, snapshot: int | None) -> LakeState:
    key = (table.metadata_location, -1 if snapshot is None else snapshot)
    return _STATES.get(key, lambda: _read(path, table, snapshot, digest(*map(str, key))))


def _read(path: str, table: IcebergTable, snapshot: int | None, number: int) -> LakeState:
    _require_names(path, table)
    columns = {column.stored: column for column in _columns(table)}
    files = () if snapshot is None else _files(path, table, snapshot)
    return LakeState("Iceberg", snapshot or 0, number, columns, (), tuple(sorted(files)))


def _columns(table: IcebergTable) -> Sequence[LakeColumn]:
    return [
        lake_column(arrow.name, arrow.name, arrow.type, nullable=arrow.nullable) for arrow in table.schema().as_arrow()
    ]


def _require_names(path: str, table: IcebergTable) -> None:
    """Raise FeatureNotSupported if a column's name may denote another column in some file."""
    current = {column.field_id: column for column in table.schema().fields}
    names = {column.name: column.field_id for column in current.values()}
    for schema in table.metadata.schemas:
        for then in schema.fields:
            now = current.get(then.field_id)
            if now is not None and (now.name, now.field_type) != (then.name, then.field_type):
                raise _unsupported_feature(path, f'column "{now.name}", which was renamed or changed its type,')
            if now is None and then.name in names:
                raise _unsupported_feature(path, f'column "{then.name}", whose name another one had before,')
    for column in current.values():
        if column.initial_default is not None:
            raise _unsupported_feature(path, f'column "{column.name}", which has a value in files that lack it,')
    if _NAME_MAPPING in table.properties:
        raise _unsupported_feature(path, "files without column numbers (a name mapping)")


def _files(path: str, table: IcebergTable, snapshot: int) -> Sequence[str]:
    try:
        tasks = list(table.scan(snapshot_id=snapshot).plan_files())
    except (ValueError, NotImplementedError) as error:
        raise _unsupported_feature(path, _first_line(error)) from error
    except OSError as error:
        raise DataCorrupted(f'could not read the Iceberg table at "{path}": {_first_line(error)}') from error
    base = _base(path, table)
    files = []
    for task in tasks:
        if task.delete_files:
            raise _unsupported_feature(
                path, "delete files", "Its owner can write them into the data files: rewrite_data_files."
            )
        if task.file.file_format.value.lower() != "parquet":
            raise _unsupported_feature(path, f"files of format {task.file.file_format.value}")
        file = plain(task.file.file_path)
        if not file.startswith(base) or ".." in file.split("/"):
            raise _unsupported_feature(path, f'files outside of its folder ("{file}")')
        files.append(file)
    return files


def _base(path: str, table: IcebergTable) -> str:
    """Return the folder that contains all files: the one that was named, or the one that the catalog names."""
    if path.startswith(SCHEME):
        return plain(table.location()).rstrip("/") + "/"
    folder = os.path.dirname(os.path.dirname(path)) if path.endswith(METADATA) else path
    return folder.rstrip("/") + "/"


def plain(location: str) -> str:
    """Return a file's location in the usual spelling: a local one as a path."""
    if location.startswith("file:"):
        return "/" + location.removeprefix("file:").lstrip("/")
    return stores.normalize_path(location)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _unsupported_feature(path: str, what: Any, hint: str | None = None) -> FeatureNotSupported:
    return FeatureNotSupported(f'not supported: {what} in the Iceberg table at "{path}"', hint=hint)

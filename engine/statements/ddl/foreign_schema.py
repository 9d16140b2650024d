"""IMPORT FOREIGN SCHEMA: import the tables of a namespace of Spark's catalogs, or of a folder, as foreign tables of a
schema.

In a folder, each file of a known format and each subfolder becomes a table, named after it without the file name's
extension. Its format and columns are inferred as by a CREATE FOREIGN TABLE whose only option is the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from engine.catalog.model.objects import Table
from engine.lakes import tables as lakes
from engine.lakes.folder_contents import children
from engine.lakes.foreign_files import DataRoots, without_ending
from engine.sql.parser.nodes.statements import CreateForeignTable, ImportForeignSchema, QualifiedName
from engine.statements.shared.definer import Definer
from engine.statements.shared.foreign_table import create_foreign_table
from wire.errors import (
    DataCorrupted,
    FeatureNotSupported,
    InvalidForeignTableOption,
    InvalidSchemaName,
    ObjectNotInPrerequisiteState,
    UndefinedFile,
    UndefinedObject,
    WrongObjectType,
)

if TYPE_CHECKING:
    from engine.executors.spark.catalogs import SparkTable

#: The server whose schemas are folders.
FILES: Final = "files"
_SERVERS: Final = ("spark", FILES)
#: The option that names the folder of the remote schema: an identifier is limited to 63 bytes.
_PATH: Final = "path"
#: The errors for a file or folder that is no table.
_NO_TABLE: Final = (
    DataCorrupted, FeatureNotSupported, InvalidForeignTableOption, ObjectNotInPrerequisiteState, UndefinedFile, WrongObjectType,
)  # fmt: skip


def check(statement: ImportForeignSchema, definer: Definer) -> None:
    """Check the statement before any catalog or folder is read. Raises UndefinedObject, InvalidForeignTableOption,
    InvalidSchemaName.
    """
    if statement.server not in _SERVERS:
        raise UndefinedObject(
            f'server "{statement.server}" does not exist', hint=f"The servers are {' and '.join(_SERVERS)}."
        )
    for option, _ in statement.options:
        if statement.server != FILES or option != _PATH:
            raise InvalidForeignTableOption(
                f'invalid option "{option}"', hint=f"The only option is {_PATH}, of server {FILES}."
            )
    if statement.into not in definer.snapshot.schemas:
        raise InvalidSchemaName(f'schema "{statement.into}" does not exist')
    definer.authority.require_creation(definer.snapshot, statement.into)


def import_tables(statement: ImportForeignSchema, found: Sequence[SparkTable], definer: Definer) -> None:
    """Define a foreign table for each requested table. Raises DuplicateTable."""
    for remote in found:
        if statement.wants(remote.name):
            for column, typ in remote.left_out:
                definer.notify(f'column "{column}" of "{remote.name}" is left out: its type in Spark is {typ}')
            definer.catalog.objects.put(
                Table(
                    definer.catalog.objects.new_oid(), statement.into, remote.name, remote.columns, "parquet", remote.path,
                    (remote.path,), lakes.next_reading(), lake="spark",
                )
            )  # fmt: skip


def import_folder(statement: ImportForeignSchema, definer: Definer, roots: DataRoots) -> None:
    """Define a foreign table for each requested file and folder. One that is no table is skipped with a notice, unless
    the statement names it. May block.

    Raises DuplicateTable, UndefinedFile, InsufficientPrivilege, WrongObjectType for a folder that is a table.
    """
    above = dict(statement.options).get(_PATH)
    path = roots.absolute(statement.remote if above is None else f"{above.rstrip('/')}/{statement.remote}")
    found = children(path)
    if lakes.kind_of(path) or any("=" in name for name in found):
        raise WrongObjectType(f'folder "{path}" is a table, not a folder of tables', hint="CREATE FOREIGN TABLE")
    for entry in found:
        name = without_ending(entry)
        if not statement.wants(name):
            continue
        options = (("path", f"{path.rstrip('/')}/{entry}"),)
        table = CreateForeignTable(
            name=QualifiedName(schema=statement.into, name=name), columns=(), options=options, text=""
        )
        try:
            create_foreign_table(table, definer.catalog, (), roots, definer.notify, definer.authority)
        except _NO_TABLE as error:
            if statement.kind == "limit to":
                raise
            definer.notify(f'"{entry}" is left out: {error.message}')

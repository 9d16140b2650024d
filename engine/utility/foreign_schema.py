"""IMPORT FOREIGN SCHEMA: the tables of a namespace of Spark's catalogs, as foreign tables of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from engine.catalog.objects import Table
from engine.lakes.tables import next_reading
from engine.sql.statements import ImportForeignSchema
from engine.utility.definer import Definer
from wire.errors import InvalidSchemaName, UndefinedObject

if TYPE_CHECKING:
    from engine.spark.catalogs import SparkTable

_SERVER: Final = "spark"


def check(statement: ImportForeignSchema, definer: Definer) -> None:
    """Before Spark is asked. Raises UndefinedObject, InvalidSchemaName."""
    if statement.server != _SERVER:
        raise UndefinedObject(f'server "{statement.server}" does not exist', hint=f"The only server is {_SERVER}.")
    if statement.into not in definer.snapshot.schemas:
        raise InvalidSchemaName(f'schema "{statement.into}" does not exist')
    definer.authority.require_creation(definer.snapshot, statement.into)


def import_tables(statement: ImportForeignSchema, found: Sequence[SparkTable], definer: Definer) -> None:
    """Define a foreign table for each that is wanted. Raises DuplicateTable."""
    for remote in found:
        if statement.wants(remote.name):
            for column, typ in remote.left_out:
                definer.notify(f'column "{column}" of "{remote.name}" is left out: its type in Spark is {typ}')
            definer.catalog.put(
                Table(
                    definer.catalog.new_oid(), statement.into, remote.name, remote.columns, "parquet", remote.path,
                    (remote.path,), next_reading(), lake="spark",
                )
            )  # fmt: skip

"""CREATE EXTENSION and DROP EXTENSION. The only extensions are those that a member provides itself
(`engine.pg_catalog.extension`); the extensions that come with PostgreSQL are accepted and bring nothing.

Migrations and test suites begin with `CREATE EXTENSION IF NOT EXISTS` for extensions that they might use ("uuid-ossp"
for a function that PostgreSQL has had itself since 13, citext for a column of another database). So an extension of
PostgreSQL's own is accepted with a notice that it brings nothing. pg_extension does not list it, and a statement that
uses one of its types or functions fails with an error that names the missing type or function. Any other extension is
refused with PostgreSQL's message for one that is not installed (extension.c).
"""

from __future__ import annotations

from typing import Final

from engine.catalog.snapshot import SLUICE
from engine.sql.parser.nodes.extensions import CreateExtension, DropExtension
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import required_by_system
from wire.errors import DuplicateObject, FeatureNotSupported, SqlSyntaxError, UndefinedObject

#: The rows of pg_available_extensions in PostgreSQL 15 as its own sources build it.
POSTGRES: Final = frozenset(
    (
        "adminpack", "amcheck", "autoinc", "bloom", "btree_gin", "btree_gist", "citext", "cube", "dblink", "dict_int",
        "dict_xsyn", "earthdistance", "file_fdw", "fuzzystrmatch", "hstore", "insert_username", "intagg", "intarray", "isn",
        "lo", "ltree", "moddatetime", "old_snapshot", "pageinspect", "pg_buffercache", "pg_freespacemap", "pg_prewarm",
        "pg_stat_statements", "pg_surgery", "pg_trgm", "pg_visibility", "pg_walinspect", "pgcrypto", "pgrowlocks",
        "pgstattuple", "plpgsql", "postgres_fdw", "refint", "seg", "sslinfo", "tablefunc", "tcn", "tsm_system_rows",
        "tsm_system_time", "unaccent", "uuid-ossp", "xml2",
    )
)  # fmt: skip

#: Extensions whose functions a member always has.
_THERE: Final = frozenset(("pg_stat_statements",))


def create_extension(statement: CreateExtension, definer: Definer) -> None:
    """Run CREATE EXTENSION. Raises DuplicateObject, SqlSyntaxError for an option that is given twice, and
    FeatureNotSupported for an extension that is not PostgreSQL's.
    """
    if statement.name == SLUICE and not statement.if_not_exists:
        raise DuplicateObject(f'extension "{SLUICE}" already exists')
    if statement.name == SLUICE:
        definer.notify(f'extension "{SLUICE}" already exists, skipping')
        return
    if statement.redundant is not None:
        raise SqlSyntaxError("conflicting or redundant options", position=statement.redundant)
    if statement.name not in POSTGRES:
        raise FeatureNotSupported(
            f'extension "{statement.name}" is not available',
            hint="There are no extensions; those that come with PostgreSQL are accepted and bring nothing.",
        )
    if statement.name in _THERE:
        return
    definer.notify(f'extension "{statement.name}" brings nothing: its types and functions are not supported')


def drop_extension(statement: DropExtension, definer: Definer) -> None:
    """Run DROP EXTENSION. Raises UndefinedObject, DependentObjectsStillExist."""
    for name in statement.names:
        if name == SLUICE:
            raise required_by_system(f"extension {SLUICE}")
        if not statement.if_exists:
            raise UndefinedObject(f'extension "{name}" does not exist')
        definer.notify(f'extension "{name}" does not exist, skipping')

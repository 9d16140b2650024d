"""Files of a table in a plan: which a reader reads, and how they are named.

Readers and DuckDB name a file by its absolute path, Spark by a URI, the catalog by its path below the table's folder.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

from engine.catalog.objects import Table
from engine.plan.input_size import filter_tests, groups_to_read
from engine.plan.logical import Final, Node, TableReader
from engine.plan.rewrite import rewrite_plan
from engine.sql.expr import Column
from wire.errors import InternalError


def narrowed(table: Table, files: Sequence[str]) -> Table:
    """The table with these files only: another version of it to whoever caches."""
    digest = zlib.crc32("\0".join((str(table.version), *files)).encode())
    return replace(table, files=tuple(files), version=table.version ^ (digest << 16 | 1))


def only_files(plan: Node, targets: Collection[Column], files: Sequence[str]) -> Node:
    """The plan with the readers that produce one of `targets` reading these files only."""
    wanted = {column.id for column in targets}

    def narrow(node: Node) -> Node:
        if not isinstance(node, TableReader) or not isinstance(node.table, Table):
            return node
        if not any(column.id in wanted for column in node.columns):
            return node
        return replace(node, table=narrowed(node.table, files))

    return rewrite_plan(plan, narrow)


def pruned(plan: Final, parameters: Mapping[int, Any]) -> Final:
    """The plan without the files of stored tables whose statistics say that their reader's filter holds for none of their rows.

    DuckDB would open each to find that out; here footers are kept. May block on those that were never read.
    """

    def prune(node: Node) -> Node:
        if not isinstance(node, TableReader) or not isinstance(node.table, Table) or node.table.storage is None:
            return node
        tests = filter_tests(node, parameters)
        if not tests:
            return node
        files = [file for file in node.table.files if groups_to_read(file, node.table, tests)]
        return node if len(files) == len(node.table.files) else replace(node, table=narrowed(node.table, files))

    rebuilt = rewrite_plan(plan, prune)
    assert isinstance(rebuilt, Final), "FINAL stays on top"
    return rebuilt


def of_table(table: Table, found: Iterable[str]) -> tuple[str, ...]:
    """The files that an engine has named, as the table names them and in its order. Raises InternalError for one that is not
    the table's: it must not be taken for one that is written anew."""
    named = {unquote(urlsplit(file).path) if file.startswith("file:") else file for file in found}
    strangers = named.difference(table.files)
    if strangers:
        raise InternalError(f'a file that is none of table "{table.name}" was found in it: {min(strangers)}')
    return tuple(file for file in table.files if file in named)


def below(table: Table, file: str) -> str:
    """A file's path below its table's folder."""
    return file.removeprefix(table.path.rstrip("/") + "/")


def absolute(table: Table, path: str) -> str:
    return f"{table.path.rstrip('/')}/{path}"

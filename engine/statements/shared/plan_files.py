"""The files of a table in a plan: those that a reader reads, and their names.

Readers and DuckDB name a file by its absolute path, Spark by a URI, and the catalog by its path below the table's
folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from engine.catalog.model.objects import Table
from engine.plan_ir.expr import Column, Node
from engine.plan_ir.logical import TableReader
from engine.plan_ir.rewrite import rewrite_plan
from engine.planner.optimizer.pruning import with_files
from wire.errors import InternalError


def only_files(plan: Node, targets: Collection[Column], files: Sequence[str]) -> Node:
    """Return the plan in which the readers that produce one of `targets` read these files only."""
    wanted = {column.id for column in targets}

    def narrow(node: Node) -> Node:
        if not isinstance(node, TableReader) or not isinstance(node.table, Table):
            return node
        if not any(column.id in wanted for column in node.columns):
            return node
        return replace(node, table=with_files(node.table, files))

    return rewrite_plan(plan, narrow)


def of_table(table: Table, found: Iterable[str]) -> tuple[str, ...]:
    """Return the files that an engine has named, under the table's names and in the table's order. Raises InternalError
    for one that is not the table's, because it would be rewritten by mistake.
    """
    named = {unquote(urlsplit(file).path) if file.startswith("file:") else file for file in found}
    strangers = named.difference(table.files)
    if strangers:
        raise InternalError(f'a file that is none of table "{table.name}" was found in it: {min(strangers)}')
    return tuple(file for file in table.files if file in named)


def below(table: Table, file: str) -> str:
    """Return a file's path below its table's folder."""
    return file.removeprefix(table.path.rstrip("/") + "/")


def absolute(table: Table, path: str) -> str:
    return f"{table.path.rstrip('/')}/{path}"

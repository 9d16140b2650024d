"""Decides which files this member reads for a `start`, and which files its `RemoteFileRef`s are.

The initiator, usually another member, names what a fragment reads. This member decides itself what is read: every file
must be within its roots, with links resolved, and outside of every member's own folder, whoever names it; and a
`RemoteFileRef` must be one of the physical sources that this member's own topology file gives it, otherwise the two
members were given different files. Its folder or glob is listed when the fragment starts, below this member's data
directory.

A table for Spark has the name that the initiator's statement uses for it. The files behind that name may be others each
time, which the table's version shows.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Table, TableColumn
from engine.catalog.model.remote_file_ref import RemoteFileRef, remote_file_ref
from engine.common import sql_type as st
from engine.executors.engine_config import PRIVATE
from engine.lakes import stores
from engine.lakes.foreign_files import DataRoots, list_files
from engine.plan_ir.spec import InstanceSpec, ReaderSpec, TableSpec
from engine.planner.codegen.files import literal_path, plain_path
from engine.sql.trees.storage_types import relation_name
from wire.dataclass import dataclass
from wire.errors import InsufficientPrivilege, ObjectNotInPrerequisiteState, UndefinedFile
from wire.types.user_types import type_heard

#: A name that engines do not take for a path of the file system.
_MEANT_OTHERWISE: Final = re.compile(r"~|[A-Za-z][\w+.-]*:")


def _require_shared(file: str) -> None:
    """Raise InsufficientPrivilege for a file in a member's own folder, and for a name that engines interpret in their
    own way, such as `~/x` and `file:x`: they would read another file than the one that was checked against the roots.
    """
    if stores.is_remote(file):
        return
    if _MEANT_OTHERWISE.match(file) or PRIVATE in os.path.normpath(file).split(os.sep):
        raise InsufficientPrivilege(f'path "{file}" is not among what a member reads for others')


@dataclass(frozen=True, slots=True)
class Readable:
    """The files and tables that an instance reads. tables: by their names in its statement."""

    readers: Sequence[ReaderSpec]
    tables: Mapping[str, Table]


class ReadableFiles:
    """See the module's docstring. roots: relative paths of `RemoteFileRef`s start at its base. held: the
    `RemoteFileRef`s of this member.
    """

    def __init__(self, member: str, roots: DataRoots, held: Iterable[RemoteFileRef] = ()) -> None:
        self._member = member
        self._roots = roots
        self._held = frozenset(held)

    def of(self, instance: InstanceSpec) -> Readable:
        """Return the files and tables that an instance reads. May block.

        Raises InsufficientPrivilege, ObjectNotInPrerequisiteState for a `RemoteFileRef` that is not this member's,
        UndefinedFile.
        """
        tables = (self._table(spec) for spec in instance.tables)
        return Readable(tuple(map(self._reader, instance.readers)), dict(tables))

    def _reader(self, spec: ReaderSpec) -> ReaderSpec:
        files, _ = self._files([plain_path(file) for file in spec.files])
        return ReaderSpec(spec.reader, tuple(map(literal_path, files)), spec.rows, spec.keys)

    def _table(self, spec: TableSpec) -> tuple[str, Table]:
        files, digest = self._files(spec.files)
        columns = tuple(
            TableColumn(name, st.of(type_heard(typ), typmod), number)
            for number, (name, typ, typmod) in enumerate(spec.columns, 1)
        )
        named = Table(
            spec.oid, "", spec.name, columns, spec.format, "", files, spec.version, dict(spec.options),
            partition_by=spec.partition_by, lake=spec.lake,
        )  # fmt: skip
        return relation_name(named), replace(named, version=zlib.crc32(digest.to_bytes(4), spec.version & 0xFFFFFFFF))

    def _files(self, named: Sequence[str]) -> tuple[tuple[str, ...], int]:
        """Return the files that these names stand for, and a digest of those that had to be listed."""
        files: list[str] = []
        digest = 0
        for name in named:
            held = remote_file_ref(name)
            if held is None:
                files.append(name)
            else:
                found, version = self._list_held(held)
                files += found
                digest = zlib.crc32(version.to_bytes(4), digest)
        self.require(files)
        return tuple(files), digest

    def require(self, files: Sequence[str]) -> None:
        """Raise InsufficientPrivilege for a file that this member does not read for others. May block."""
        for file in files:
            _require_shared(file)
        self._roots.require(files)

    def _list_held(self, held: RemoteFileRef) -> tuple[tuple[str, ...], int]:
        if held not in self._held:
            raise ObjectNotInPrerequisiteState(
                f'member "{self._member}" does not hold {held.format} files at "{held.path}"',
                detail=f'They were asked for as those of member "{held.member}".',
                hint="All members need the same topology file.",
            )
        try:
            return list_files(self._roots.absolute(held.path), held.format)
        except UndefinedFile as error:
            raise UndefinedFile(f'{error.message} (on member "{self._member}")') from None

"""The format of a path whose format was not given, determined by the files that lie there, and the errors where they
have no single format.

The endings of the files' names determine their format. A folder of Parquet files need not be a table of Parquet files:
in a Hudi table, in an Iceberg table whose newest version is not known, and in a folder of several Delta tables, the
files have more rows than the table. So these are refused unless a format is given.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from engine.catalog.model.objects import FileFormat
from engine.lakes import delta, iceberg, stores
from engine.lakes.foreign_files import format_of_name, is_listed
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidForeignTableOption, UndefinedFile

_HUDI: Final = ".hoodie"
#: The maximal number of tables or endings that a message names.
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a folder. formats: the number of files of each format. endings: the number of other files by the
    ending of their name, empty for names without one. tables: tables of formats with a log of their own, as (format,
    folder).
    """

    formats: Mapping[FileFormat, int]
    endings: Mapping[str, int]
    tables: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Describe in words which files there are."""
        counted = [_files(count, name) for name, count in sorted(self.formats.items())]
        most = Counter(self.endings).most_common(_NAMED)
        counted += [_files(count, ending) for ending, count in most]
        return " and ".join(counted) or "no files"


def _files(count: int, what: str) -> str:
    """Describe a number of files of a format or an ending; `what` is empty for files without an ending."""
    noun = "file" if count == 1 else "files"
    return f"{count} {what} {noun}" if what else f"{count} {noun} without an ending"


def format_at(path: str) -> FileFormat:
    """Determine the format of the files at an absolute path: by the ending of a file's or pattern's name, otherwise
    Parquet; for a folder, the one format of all its files. May block.

    Raises InvalidForeignTableOption if they have several, UndefinedFile if there are none, FeatureNotSupported for a
    table of a format with a log.
    """
    told = format_of_name(path)
    if not _is_folder(path):
        return told or _of_pattern(path) or "parquet"
    found = contents(path)
    if found.tables:
        raise _other_table(path, found)
    if told in found.formats or (len(found.formats) == 1 and (told := next(iter(found.formats)))):
        assert told is not None, "a format that is there"
        return told
    if found.formats:
        raise InvalidForeignTableOption(
            f'the files at "{path}" are of several formats: {found}',
            hint=f"Say which of them are the table's: OPTIONS (path '...', format '{min(found.formats)}').",
        )
    raise nothing_known(path, found)


def nothing_known(path: str, found: Contents) -> UndefinedFile:
    """Return the error for a folder without a file of a known format."""
    hint = "Formats are told by the endings .parquet, .csv and .json. Name files with other names by a pattern, and their format:"
    return UndefinedFile(
        f'could not find parquet, csv or json files at "{path}"',
        detail=f"The folder has {found}.",
        hint=f"{hint} OPTIONS (path '.../*', format 'csv')." if found.endings else None,
    )


def contents(path: str) -> Contents:
    """Count the files of a folder, and find the tables in it. May block."""
    formats: Counter[FileFormat] = Counter()
    endings: Counter[str] = Counter()
    tables: dict[tuple[str, str], None] = {}
    for folders, name in _entries(path):
        if (table := _table(path, folders, name)) is not None:
            tables[table] = None
        elif name and not name.startswith((".", "_")) and all(map(is_listed, folders)):
            file_format = format_of_name(name)
            if file_format is not None:
                formats[file_format] += 1
            else:
                endings[os.path.splitext(name)[1]] += 1
    return Contents(formats, endings, tuple(tables))


def children(path: str) -> Sequence[str]:
    """Return the names of the files of a known format, and of the subfolders that may be tables, sorted. May block.

    Raises UndefinedFile if there is no such folder.
    """
    if stores.is_remote(path):
        below = [file.path[len(path) :].strip("/") for file in stores.list_files(path)]
        found = {first for first, more, _ in (name.partition("/") for name in below) if more or format_of_name(first)}
    else:
        try:
            with os.scandir(path) as entries:
                found = {entry.name for entry in entries if entry.is_dir() or format_of_name(entry.name)}
        except OSError as error:
            raise UndefinedFile(f'could not read folder "{path}": {error.strerror}') from error
    return sorted(name for name in found if not name.startswith((".", "_")))


def _table(path: str, folders: tuple[str, ...], name: str) -> tuple[str, str] | None:
    """Return the table with a log to which an entry belongs, if it is a part of that log."""
    for mark, kind in ((delta.LOG, "Delta"), (_HUDI, "Hudi")):
        if mark in folders:
            return kind, "/".join((path, *folders[: folders.index(mark)]))
    if folders[-1:] == ("metadata",) and name.endswith(iceberg.METADATA):
        return "Iceberg", "/".join((path, *folders[:-1]))
    return None


def _other_table(path: str, found: Contents) -> FeatureNotSupported:
    kind, folder = found.tables[0]
    if kind == "Hudi":
        return FeatureNotSupported(
            f'not supported: the Hudi table at "{folder}"',
            hint="With format 'parquet' all of its files are read, rows that were changed since among them.",
        )
    if kind == "Iceberg" and folder == path:
        return FeatureNotSupported(
            f'not supported: the Iceberg table at "{path}", of which the newest version is not known',
            hint="Name one of its files metadata/....metadata.json as the path, or the catalog that knows.",
        )
    named = ", ".join(f'"{table}" ({form})' for form, table in found.tables[:_NAMED])
    more = f" and {len(found.tables) - _NAMED} more" if len(found.tables) > _NAMED else ""
    return FeatureNotSupported(
        f'not supported: the folder "{path}" as one table, since tables lie in it',
        detail=f"They are {named}{more}.",
        hint="Create a foreign table for each of them.",
    )


def _is_folder(path: str) -> bool:
    if stores.is_remote(path):
        return [file.path for file in stores.list_files(path)] != [path]
    return os.path.isdir(path)


def _of_pattern(path: str) -> FileFormat | None:
    """Return the one format of the files that match a pattern and whose names tell a format; None if they have none or
    several.
    """
    if stores.is_remote(path) or not glob.has_magic(path):
        return None
    found = {format_of_name(file) for file in glob.iglob(path, recursive=True)} - {None}
    return found.pop() if len(found) == 1 else None


def _entries(path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the files below a folder: their folders, and their names. The folder of a log is yielded in place of its
    files.
    """
    if stores.is_remote(path):
        for file in stores.list_files(path):
            *folders, name = file.path[len(path) :].strip("/").split("/")
            yield tuple(folders), name
        return
    for base, folders, names in os.walk(path):
        below = os.path.relpath(base, path)
        within = () if below == "." else tuple(below.split(os.sep))
        for log in {delta.LOG, _HUDI}.intersection(folders):
            yield (*within, log), ""
        folders[:] = filter(is_listed, folders)
        yield from ((within, name) for name in names)

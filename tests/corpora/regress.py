"""PostgreSQL's own regression tests: `src/test/regress` of Debian's source package.

apt fetches the package into separate folders, so that the system's package lists stay as they are.
"""

from __future__ import annotations

import platform
import re
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from corpora import psql_script
from corpora.statement import Statement

_PACKAGE: Final = "postgresql-15"
_SOURCES: Final = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
#: The part of the source that is unpacked: scripts, and data that they read.
_PART: Final = re.compile(r"[^/]+/src/test/regress/(sql|data)/[^/]+")


#: COPY of a file of theirs, which both servers are sent as data: neither has to be allowed to read it.
_COPY_FILE: Final = re.compile(r"(copy\s+.*?\s+from\s+)'([^']*)'", re.IGNORECASE | re.DOTALL)


class NotFetched(Exception):
    """The source package cannot be had here; the text says why."""


def folder(below: Path) -> Path:
    """`src/test/regress` with its folders `sql` and `data`, fetched if it is not there. Raises NotFetched."""
    place = below / "regress"
    if not place.exists():
        archive = _archive(below / "apt")
        with tarfile.open(archive) as source:
            for member in source:
                if _PART.fullmatch(member.name):
                    member.name = "/".join(member.name.split("/")[-2:])
                    source.extract(member, place, filter="data")
    return place


def statements(source: Path, name: str) -> Sequence[Statement]:
    """The statements of one script. source: `folder`'s."""
    text = (source / "sql" / f"{name}.sql").read_text()
    read = psql_script.statements(text, {"PG_ABS_SRCDIR": str(source)})
    return [_with_data(statement, source) for statement in read]


def _with_data(statement: Statement, source: Path) -> Statement:
    copied = _COPY_FILE.match(statement.text)
    if copied is None or not (file := Path(copied[2])).is_relative_to(source) or not file.is_file():
        return statement
    return replace(statement, text=f"{copied[1]}stdin{statement.text[copied.end() :]}", data=file.read_bytes())


def _archive(apt: Path) -> Path:
    """The package's archive of upstream's source."""
    for each in ("state/lists/partial", "cache/archives/partial", "sources"):
        (apt / each).mkdir(parents=True, exist_ok=True)
    listed = next((path for path in _SOURCES if path.exists()), None)
    if listed is None:
        raise NotFetched("apt has no list of Debian's packages here")
    ours = apt / f"source{listed.suffix}"
    ours.write_text(
        re.sub(
            r"^(Types: )?deb(?=\s)", lambda found: f"{found[1] or ''}deb-src", listed.read_text(), flags=re.MULTILINE
        )
    )
    options = [
        f"Dir::Etc::sourcelist={ours.absolute()}", "Dir::Etc::sourceparts=/dev/null", f"Dir::State={(apt / 'state').absolute()}",
        "Dir::State::status=/var/lib/dpkg/status", f"Dir::Cache={(apt / 'cache').absolute()}",
    ]  # fmt: skip
    # Of the release itself, rather than of the updates since, whose sources not every mirror has.
    package = f"{_PACKAGE}/{platform.freedesktop_os_release()['VERSION_CODENAME']}"
    for command in (["update"], ["source", "--download-only", package]):
        called = ["apt-get", *(part for option in options for part in ("-o", option)), *command]
        done = subprocess.run(called, cwd=apt / "sources", capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotFetched(f"apt-get {command[0]} failed: {done.stderr.strip()}")
    found = next((apt / "sources").glob("*.orig.tar.*"), None)
    if found is None:
        raise NotFetched(f"the source of {_PACKAGE} has no archive of upstream's")
    return found

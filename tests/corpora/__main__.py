"""`python -m corpora [regress | PATH ...] [--engines local,spark] [--every N]`: run corpora on a member and on PostgreSQL."""

from __future__ import annotations

import lzma
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from support.member_process import MemberProcess
from support.postgres_server import PostgresServer

from corpora import page, psql_script, regress, sqllogictest
from corpora.comparison import Compared, Servers
from corpora.statement import Statement

BUILD: Final = Path(__file__).parents[2] / "build" / "corpora"
_SCRIPTS: Final = (".sql",)
_LOGIC: Final = (".test", ".slt", ".part")


def main(
    corpora: Annotated[
        list[str] | None,
        typer.Argument(help="Files and folders; `regress`: PostgreSQL's regression tests, fetched from Debian."),
    ] = None,
    engines: Annotated[str, typer.Option(help="Of the member, divided by commas.")] = "local,spark",
    every: Annotated[
        int, typer.Option(min=1, help="Only every so many queries of sqllogictest files; all other statements run.")
    ] = 1,
) -> None:
    """Run statements that others wrote on both engines beside PostgreSQL 15, and write a table of what differs."""
    console = Console(soft_wrap=True)
    results: dict[str, dict[str, Compared]] = {}
    with _servers() as (member, postgres):
        for name, statements in _files(corpora or ["regress"], every, console):
            for engine in engines.split(","):
                compared = Servers(member, postgres, engine).compare(statements, "corpus")
                results.setdefault(name, {})[engine] = compared
                counted = ", ".join(f"{count} {kind}" for kind, count in compared.counts.items())
                console.print(f"{name}, {engine}: {counted}", markup=False)
    written = page.write(BUILD, results)
    console.print(page.table(results), markup=False)
    console.print(f"The table is in {written[0]}, differences are in the folders beside it.", markup=False)
    if any(compared.counts["internal"] for engines_of in results.values() for compared in engines_of.values()):
        sys.exit(1)


@contextmanager
def _servers() -> Iterator[tuple[str, str]]:
    """Connection strings of a new member and a new PostgreSQL."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="sluice-corpora-") as data,
        PostgresServer() as postgres,
        postgres.database("sluice") as database,
        MemberProcess(Path(data), "--spark-master", "local[2]", log=BUILD / "member.log") as member,
    ):
        yield f"host={member.host} port={member.port} user=tester dbname=sluice", database.dsn


def _files(corpora: Sequence[str], every: int, console: Console) -> Iterator[tuple[str, Sequence[Statement]]]:
    """The files of all corpora, by name, with their statements."""
    for corpus in corpora:
        if corpus == "regress":
            yield from _regress()
            continue
        root = Path(corpus)
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            try:
                statements = _read(path, every)
            except (sqllogictest.UnreadableFile, UnicodeDecodeError) as error:
                console.print(f"{path}: left out: {error}", markup=False)
                continue
            if statements:
                yield (str(path.relative_to(root)) if path != root else path.name), statements


def _regress() -> Iterator[tuple[str, Sequence[Statement]]]:
    """PostgreSQL's tests, each after the script that makes the tables which most of them read."""
    folder = regress.folder(BUILD)
    ground = regress.statements(folder, "test_setup")
    for path in sorted((folder / "sql").glob("*.sql")):
        if path.stem != "test_setup":
            yield f"regress/{path.stem}", [*ground, *regress.statements(folder, path.stem)]


def _read(path: Path, every: int) -> Sequence[Statement]:
    """A file's statements; none where the name is of no known kind. Raises UnreadableFile, UnicodeDecodeError."""
    inner = path.with_suffix("") if path.suffix == ".xz" else path
    if not path.is_file() or inner.suffix not in (*_SCRIPTS, *_LOGIC):
        return ()
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    if inner.suffix in _SCRIPTS:
        return list(psql_script.statements(text, {}))
    return list(sqllogictest.statements(text, every=every))


if __name__ == "__main__":
    typer.run(main)

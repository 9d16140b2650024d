"""`sluice diagnose`: writes a bundle for the analysis of a problem, without secrets.

    manifest.json       when and by which release it was made, what is missing and why
    versions.json       Python, the machine, the packages that a member runs with
    configuration.json  the configuration without secrets (`server.config.shown`)
    status.json, metrics.txt            from the member's console, as an unauthenticated viewer sees them
    sql/NAME.json       statements that run, recent ones, fragments, edges, Spark's jobs, members, settings: what the user may see
    plans/ID.txt        EXPLAIN (DISTSQL) of the slowest recent queries
    log.txt             the end of the member's log

The manifest names each part that could not be collected. If the member does not answer, the configuration, the versions
and the log are still collected. The member masks the passwords in the texts of statements. Everything that is written
passes through a `Redactor`, which removes the secrets of the configuration wherever they occur.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from server.common.version import VERSION
from server.config.shown import Redactor, secrets_of, show
from wire.dataclass import dataclass
from wire.errors import SqlError

if TYPE_CHECKING:
    from server.config.config import Config

LOG_BYTES: Final = 4 << 20
_SECONDS: Final = 10
_PLANS: Final = 10
#: A text of this many characters may have been truncated.
_CUT: Final = 1_000
_RELATIONS: Final = ("queries", "history", "fragments", "edges", "spark", "spark_jobs", "members")
_DISTRIBUTION: Final = "sluice"


@dataclass(frozen=True, slots=True)
class Target:
    """The addresses of the member. console: its URL; empty: the console is not queried. connection: to its PostgreSQL
    port. log: its log file.
    """

    console: str
    connection: Mapping[str, str | int]
    log: Path | None = None


@dataclass(slots=True)
class _Bundle:
    archive: zipfile.ZipFile
    redactor: Redactor
    missing: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> None:
        self.archive.writestr(name, self.redactor.redact(text))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Collect a part that may fail; a failure is recorded in the manifest."""
        try:
            yield
        except (OSError, psycopg.Error, SqlError, ValueError) as error:
            self.missing[name] = self.redactor.redact(f"{type(error).__name__}: {str(error).strip()}")


def diagnose(config: Config, target: Target, file: Path) -> Mapping[str, str]:
    """Write the bundle. Returns the missing parts, each with the reason. Raises OSError if the file cannot be written."""
    secrets = secrets_of(config) | {os.environ.get("PGPASSWORD", "")}
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive:
        bundle = _Bundle(archive, Redactor(secrets))
        bundle.write("configuration.json", _json(show(config)))
        bundle.write("versions.json", _json(_versions()))
        if target.console:
            for name, path in (("metrics.txt", "metrics"), ("status.json", "status")):
                with bundle.part(name):
                    bundle.write(name, _read(target.console, path))
        with bundle.part("sql"):
            _ask(bundle, target)
        if target.log is not None:
            with bundle.part("log.txt"):
                bundle.write("log.txt", _end_of(target.log))
        manifest = {
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "version": VERSION,
            "missing": bundle.missing,
        }
        bundle.write("manifest.json", _json(manifest))
    return bundle.missing


def _ask(bundle: _Bundle, target: Target) -> None:
    options = f"-c statement_timeout={_SECONDS}s -c default_transaction_read_only=on"
    where: dict[str, Any] = {"application_name": "sluice diagnose", "connect_timeout": _SECONDS, **target.connection}
    with psycopg.connect(**where, options=options, autocommit=True, row_factory=dict_row) as connection:
        told: dict[str, list[dict[str, Any]]] = {}
        for name in _RELATIONS:
            with bundle.part(f"sql/{name}.json"):
                told[name] = connection.execute(
                    sql.SQL("select * from {}").format(sql.Identifier("sluice", name))
                ).fetchall()
                bundle.write(f"sql/{name}.json", _json(told[name]))
        with bundle.part("sql/settings.json"):
            settings = connection.execute("select name, setting, source from pg_settings").fetchall()
            bundle.write("sql/settings.json", _json(settings))
        for statement in _slowest(told.get("history", ())):
            # Not every system can unpack a name with a colon.
            name = f"plans/{statement['query_id'].replace(':', '-')}.txt"
            with bundle.part(name):
                bundle.write(name, _plan(connection, statement["statement"]))


def _slowest(history: Any) -> list[dict[str, Any]]:
    """Return the queries that took longest, among those whose complete text is known."""
    queries = [told for told in history if told["engine"] is not None and _is_query(told["statement"])]
    return sorted(queries, key=_seconds, reverse=True)[:_PLANS]


def _seconds(told: Mapping[str, Any]) -> float:
    begun, ended = told["started"], told["ended"]
    return 0.0 if begun is None or ended is None else (ended - begun).total_seconds()


def _is_query(text: str) -> bool:
    """Return whether a text is one query that was not truncated, which EXPLAIN plans without running it."""
    if len(text) >= _CUT:
        return False
    try:
        statements = parse(text)
    except SqlError:
        return False
    return len(statements) == 1 and isinstance(statements[0], Query)


def _plan(connection: psycopg.Connection[dict[str, Any]], text: str) -> str:
    # Prepared, so that the text is executed as a single statement or not at all.
    explain = sql.SQL("explain (distsql) ") + sql.SQL(text)
    rows = connection.execute(explain, prepare=True).fetchall()
    return "\n".join([text, "", *(str(next(iter(row.values()))) for row in rows)]) + "\n"


def _read(console: str, path: str) -> str:
    with urllib.request.urlopen(f"{console.rstrip('/')}/{path}", timeout=_SECONDS) as answer:  # noqa: S310
        text: str = answer.read().decode()
    return text


def _end_of(log: Path) -> str:
    with log.open("rb") as opened:
        opened.seek(max(0, log.stat().st_size - LOG_BYTES))
        return opened.read().decode(errors="replace")


def _versions() -> Mapping[str, Any]:
    required = importlib.metadata.requires(_DISTRIBUTION) if _is_installed(_DISTRIBUTION) else ()
    names = sorted({_name_of(text) for text in required or () if "extra ==" not in text})
    return {
        "sluice": VERSION,
        "python": platform.python_version(),
        "machine": platform.platform(),
        "processors": os.cpu_count(),
        "packages": {name: importlib.metadata.version(name) for name in names if _is_installed(name)},
    }


def _name_of(requirement: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else " " for letter in requirement).split()[0]


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, default=_plain) + "\n"


_plain: Callable[[Any], str] = str

"""`sluice serve --check`: reports every mistake of a configuration in one run, each with its key and its source.

Pydantic reports the mistakes of all fields together, but runs the validators of a section and of the whole
configuration only if all fields are valid, and stops at the first validator that fails. So a configuration with a
mistake is validated again without the invalid part. Mistakes that arise only because a part was left out are not
reported.

Then the check asks this machine for what the member will need: folders that exist or can be created and written, ports
that are free, and what Spark's master needs. Nothing is created or started.

Roles that the rules of authentication name and the catalog does not have are warnings: they may be created later.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from engine.catalog.store.store import is_url
from server.auth import hba
from server.config.address import Address
from server.config.config import Config, check_topology
from server.config.errors import ConfigurationError
from server.config.sources import Said, place_of, value_at
from wire.dataclass import dataclass
from wire.errors import SqlError

#: A Spark master that has not answered after this time counts as absent.
_CONNECT_SECONDS: Final = 3.0
_ANY_USER: Final = ("all", "samerole", "sameuser", "samegroup", "replication")


@dataclass(frozen=True, slots=True)
class Found:
    """mistakes: errors that keep the member from starting or from working as configured. warnings: settings that may
    be intended. One line each.
    """

    mistakes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def check(path: Path | None, flags: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Found:
    """Check everything. Blocks on the file system and on the network."""
    try:
        said = Said.read(path, flags, environment)
    except ConfigurationError as error:
        return Found(tuple(str(error).splitlines()))
    config, mistakes = _understood(said)
    if config is None:
        return Found(tuple(mistakes))
    mistakes += _topology(config)
    for found in (_folders, _roots, _ports, _spark, _catalog):
        mistakes += [f"{said.place(key)}{'.'.join(key)}: {what}" for key, what in found(config)]
    warnings = [f"{said.place(key)}{'.'.join(key)}: {what}" for key, what in _unknown_roles(config)]
    return Found(tuple(dict.fromkeys(mistakes)), tuple(warnings))


def _understood(said: Said) -> tuple[Config | None, list[str]]:
    """Return the configuration without its invalid parts, and the mistakes. The configuration is None if a mistake
    belongs to no given key, so that nothing can be left out.
    """
    values, mistakes = dict(said.values), list[str]()
    left_out: set[str] = set()
    while True:
        try:
            return Config.model_validate(values), mistakes
        except ValidationError as error:
            before = len(left_out), values
            for each in error.errors():
                key, _ = place_of(each)
                section = key[0] if key else ""
                # A missing value in a section that lost a part may be a consequence of the loss.
                if section not in left_out or value_at(values, key) is not None:
                    mistakes.append(said.tell(each))
                values = _without(values, key if value_at(values, key) is not None else key[:1])
                left_out.add(section)
                values = _with_placeholder(values, key)
            if before == (len(left_out), values):
                return None, mistakes


def _without(values: Mapping[str, Any], key: tuple[str, ...]) -> dict[str, Any]:
    """Return the values without a key. For an item of a list, the whole list is left out."""
    if not key or key[0] not in values:
        return dict(values)
    inside = values[key[0]]
    rest = {name: value for name, value in values.items() if name != key[0]}
    return {**rest, key[0]: _without(inside, key[1:])} if len(key) > 1 and isinstance(inside, Mapping) else rest


def _with_placeholder(values: dict[str, Any], key: tuple[str, ...]) -> dict[str, Any]:
    """Replace a key that was left out by a placeholder, if the rest cannot be validated without it."""
    if key != ("cluster", "secret_file") or "cluster" not in values:
        return values
    return {**values, "cluster": {**values["cluster"], "secret": "left out"}}


def _topology(config: Config) -> list[str]:
    try:
        topology = config.topology()
        if topology is not None:
            check_topology(config, topology)
    except ConfigurationError as error:
        return str(error).splitlines()
    return []


Mistakes = Iterator[tuple[tuple[str, ...], str]]


def _folders(config: Config) -> Mistakes:
    """Check the folders that the member writes into."""
    yield from _unwritable(("data",), config.data)
    if config.base is not None:
        yield from _unwritable(("base",), config.base)
    for root in config.copy_roots:
        yield from _unwritable(("copy_roots",), root)
    if config.catalog is not None and not is_url(config.catalog):
        yield from _unwritable(("catalog",), Path(config.catalog).parent)


def _unwritable(key: tuple[str, ...], folder: Path) -> Mistakes:
    there = folder.absolute()
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        yield key, f"{folder} cannot be a folder: {there} is none"
    elif not os.access(there, os.W_OK | os.X_OK):
        yield (
            key,
            f"{folder} cannot be {'written' if there == folder.absolute() else 'made'}: no right to write in {there}",
        )


def _roots(config: Config) -> Mistakes:
    """Check the folders from which the member reads."""
    for root in config.roots:
        if not root.is_dir():
            yield ("roots",), f"there is no folder {root}"
        elif not os.access(root, os.R_OK | os.X_OK):
            yield ("roots",), f"{root} cannot be read"


def _ports(config: Config) -> Mistakes:
    listening: list[tuple[tuple[str, ...], str]] = [(("listen",), config.listen), (("console",), config.console)]
    if config.in_cluster:
        listening.append((("mesh",), config.mesh))
    if config.http.listen is not None:
        listening.append((("http", "listen"), config.http.listen))
    taken: dict[Address, str] = {}
    for key, text in listening:
        address = Address.parse(text)
        other = taken.setdefault(address, key[-1]) if address.port else key[-1]
        if other != key[-1]:
            yield key, f"{text} is what {other} listens on"
        elif (why := _cannot_listen(address)) is not None:
            yield key, f"cannot listen on {text}: {why}"


def _cannot_listen(address: Address) -> str | None:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, where in found:
            with socket.socket(family, kind, protocol) as one:
                # As on the member's own socket: a port with connections in TIME_WAIT counts as free.
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind(where)
                one.listen(1)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _spark(config: Config) -> Mistakes:
    """Check for Java, without which there is no driver, and for the Spark cluster."""
    home = os.environ.get("JAVA_HOME")
    if home is not None and not os.access(Path(home, "bin", "java"), os.X_OK):
        yield ("spark",), f"there is no Java in JAVA_HOME ({home})"
    elif home is None and shutil.which("java") is None:
        yield ("spark",), "there is no java in PATH, and no JAVA_HOME"
    key, master = ("spark", "master"), config.spark.master
    if master == "yarn" and not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
        yield key, "yarn needs HADOOP_CONF_DIR or YARN_CONF_DIR in the environment"
    if master.startswith("spark://"):
        addresses = [Address.parse(text) for text in master.removeprefix("spark://").split(",")]
        failures = [_cannot_connect(address) for address in addresses]
        # One of several masters is the leader; the others may be down.
        if all(failures):
            yield key, f"cannot connect to {master}: {failures[0]}"


def _cannot_connect(address: Address) -> str | None:
    try:
        socket.create_connection((address.host, address.port), _CONNECT_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _catalog(config: Config) -> Mistakes:
    """Check that an existing catalog can be read."""
    try:
        _role_names(config)
    except _Unreadable as error:
        yield ("catalog",), str(error)


class _Unreadable(Exception):
    """The catalog cannot be read."""


def _role_names(config: Config) -> frozenset[str]:
    """Return the roles of the catalog; none if it does not exist yet."""
    location = config.engine().catalog_location
    return _roles_in_postgres(str(location)) if is_url(location) else _roles_in_file(Path(location))


def _roles_in_file(file: Path) -> frozenset[str]:
    if not file.exists():
        return frozenset()
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
            return frozenset(
                name for (name,) in (connection.execute("select name from roles") if "roles" in tables else ())
            )
    except sqlite3.Error as error:
        raise _Unreadable(f"cannot read {file}: {error}") from None


def _roles_in_postgres(url: str) -> frozenset[str]:
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=int(_CONNECT_SECONDS)) as connection:
            there = connection.execute("select to_regclass('sluice_catalog.roles')").fetchone()
            if there is None or there[0] is None:
                return frozenset()
            return frozenset(name for (name,) in connection.execute("select name from sluice_catalog.roles"))
    except psycopg.Error as error:
        # The URL is not shown, because it may contain a password.
        raise _Unreadable(f"cannot use the database: {str(error).splitlines()[0]}") from None


def _unknown_roles(config: Config) -> Mistakes:
    """Yield names in the rules that are not roles, if there are any roles."""
    if config.hba_file is None:
        return
    try:
        known = _role_names(config)
        rules = hba.read(config.hba_file)
    except (_Unreadable, hba.HbaError, SqlError):
        return
    for rule in rules if known else ():
        for word in rule.users:
            name = word.text if word.quoted else word.text.removeprefix("+")
            keyword = not word.quoted and word.text in _ANY_USER
            if not keyword and name not in known and not name.startswith("pg_"):
                yield ("hba_file",), f'{config.hba_file}, line {rule.line}: there is no role "{name}"'

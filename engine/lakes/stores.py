"""Object stores: files at `s3://bucket/key`, through pyarrow's S3, for all code in this process that reads files.

The operator configures which buckets there are, where they are, and their credentials. SQL names a bucket and a key,
never a credential, and a bucket that belongs to no store is refused: otherwise any role that may create a foreign table
could make the member send arbitrary requests with the operator's credentials. A store without a key of its own uses the
credentials of the process (environment, profile, instance role), by AWS' usual rules.

There is one registry for the process, because readers receive only the files' names: DuckDB's scans, footers, members.
The engines of one process must agree on their stores, or the second one is refused.

DuckDB reads through `engine.lakes.store_files`, a file system with fsspec's interface; deltalake takes options
(`delta_options`). Spark would need Hadoop's S3 connector, which no Python package registry has, so its tasks read
through DuckDB too (`engine.planner.codegen.scans`).

Rejected: DuckDB's httpfs (downloaded from the internet when it is first used); s3fs (another S3 client, and another
event loop); `CREATE SECRET` in SQL (statements are logged).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs

from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InsufficientPrivilege, IoError

_SCHEME: Final = "s3://"
#: Hadoop's spellings of the scheme.
_ALIASES: Final = ("s3a://", "s3n://")
_CONNECT_SECONDS: Final = 10
_REQUEST_SECONDS: Final = 60
_WILD: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Store:
    """An object store. name: the operator's name for it. buckets: its buckets. endpoint: a URL; None: Amazon's. key,
    secret: None: the credentials of the process.
    """

    name: str
    buckets: tuple[str, ...]
    endpoint: str | None = None
    region: str | None = None
    key: str | None = None
    secret: str | None = field(default=None, repr=False)

    def file_system(self) -> fs.S3FileSystem:
        known = {
            "endpoint_override": self.endpoint,
            "region": self.region,
            "access_key": self.key,
            "secret_key": self.secret,
        }
        given = {name: value for name, value in known.items() if value is not None}
        return fs.S3FileSystem(connect_timeout=_CONNECT_SECONDS, request_timeout=_REQUEST_SECONDS, **given)

    def iceberg_options(self) -> dict[str, str]:
        """Return pyiceberg's properties for the store's files."""
        known = {
            "s3.endpoint": self.endpoint,
            "s3.region": self.region,
            "s3.access-key-id": self.key,
            "s3.secret-access-key": self.secret,
        }
        return {name: value for name, value in known.items() if value is not None}

    def delta_options(self) -> dict[str, str]:
        """Return the options that deltalake calls `storage_options`."""
        known = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region or ("us-east-1" if self.endpoint else None),
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ALLOW_HTTP": "true" if (self.endpoint or "").startswith("http://") else None,
        }
        return {name: value for name, value in known.items() if value is not None}


def normalize_path(path: str) -> str:
    """Return a path in a store in its usual spelling; other paths are returned unchanged."""
    for alias in _ALIASES:
        if path.startswith(alias):
            return _SCHEME + path[len(alias) :]
    return path


class _Registry:
    """The stores of the process, by bucket. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stores: dict[str, Store] = {}
        self._systems: dict[Store, fs.S3FileSystem] = {}

    def add(self, stores: Iterable[Store]) -> None:
        with self._lock:
            for store in stores:
                for bucket in store.buckets:
                    if self._stores.setdefault(bucket, store) != store:
                        raise ValueError(f'bucket "{bucket}" belongs to another store of this process already')

    def of(self, path: str) -> Store:
        bucket = path.removeprefix(_SCHEME).partition("/")[0]
        store = self._stores.get(bucket)
        if store is None:
            raise InsufficientPrivilege(
                f'bucket "{bucket}" belongs to no object store of this member',
                hint="Its configuration names them under stores.",
            )
        return store

    def system(self, path: str) -> fs.S3FileSystem:
        store = self.of(path)
        with self._lock:
            return self._systems.get(store) or self._systems.setdefault(store, store.file_system())


_REGISTRY: Final = _Registry()


def register(stores: Iterable[Store]) -> None:
    """Register stores with the process. Raises ValueError if a bucket already belongs to another store."""
    _REGISTRY.add(stores)


def is_remote(path: str) -> bool:
    """Return whether a path lies in an object store."""
    return path.startswith((_SCHEME, *_ALIASES))


def absolute(path: str) -> str:
    """Return a path in a store in its usual spelling. Raises InsufficientPrivilege for a bucket that is in no store,
    FeatureNotSupported for wildcards.
    """
    path = normalize_path(path)
    if _WILD.intersection(path):
        raise FeatureNotSupported(
            f'not supported: wildcards in "{path}", which lies in an object store', hint="Name a folder, or one file."
        )
    _REGISTRY.of(path)
    return path.rstrip("/")


def store_of(path: str) -> Store:
    """Return the store that contains a path. Raises InsufficientPrivilege."""
    return _REGISTRY.of(path)


def require(path: str) -> None:
    """Raise InsufficientPrivilege for a bucket that is in no store."""
    _REGISTRY.of(path)


def delta_options(path: str) -> dict[str, str] | None:
    """Return deltalake's options to open a table at a path; None for a path that is in no store."""
    return _REGISTRY.of(path).delta_options() if is_remote(path) else None


def iceberg_options(path: str) -> dict[str, str]:
    """Return pyiceberg's options to open a table at a path."""
    return _REGISTRY.of(path).iceberg_options() if is_remote(path) else {}


def text(path: str) -> str:
    """Read a small file as text. Blocks. Raises OSError."""
    where, system = resolve_path(path)
    if system is None:
        return Path(path).read_text()
    with system.open_input_stream(where) as stream:
        return str(stream.read().decode())


def resolve_path(path: str) -> tuple[str, fs.FileSystem | None]:
    """Return a path in the form that pyarrow's readers take, with its file system (None: the local one)."""
    return (path.removeprefix(_SCHEME), _REGISTRY.system(path)) if is_remote(path) else (path, None)


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in a store. changed: the time when it was written, as the store reports it."""

    path: str
    size: int
    changed: str


def list_files(path: str) -> Sequence[Listed]:
    """Return the file of this path, or all files below it; none if there is nothing. Blocks. Raises IoError."""
    where, system = resolve_path(path)
    assert system is not None, "a path in a store"
    try:
        own = system.get_file_info(where)
        below = (
            [own] if own.is_file else system.get_file_info(fs.FileSelector(where, allow_not_found=True, recursive=True))
        )
    except (OSError, pa.ArrowException) as error:
        raise IoError(f'could not list "{path}": {str(error).splitlines()[0]}') from error
    return [Listed(_SCHEME + found.path, found.size, str(found.mtime_ns)) for found in below if found.is_file]


def size(path: str) -> int:
    """Return a file's size in bytes. Blocks. Raises OSError."""
    where, system = resolve_path(path)
    assert system is not None, "a path in a store"
    found = system.get_file_info(where)
    if not found.is_file:
        raise FileNotFoundError(path)
    return int(found.size)


def file_system(path: str) -> fs.S3FileSystem:
    """Return the file system of the store that a path lies in. Raises InsufficientPrivilege for a bucket that is in no store."""
    return _REGISTRY.system(path)

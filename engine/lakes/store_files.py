"""Object stores as a file system for DuckDB, with fsspec's interface. fsspec is imported only where stores are
configured.
"""

from __future__ import annotations

from typing import Any, Final

from fsspec import AbstractFileSystem
from fsspec.implementations.arrow import ArrowFSWrapper

from engine.lakes.stores import file_system

_SCHEME: Final = "s3://"


class StoreFiles(AbstractFileSystem):  # type: ignore[misc]
    """One file system for the buckets of all stores, because DuckDB chooses a file system by the scheme of a path."""

    protocol = "s3"
    cachable = False

    def _of(self, path: str) -> tuple[ArrowFSWrapper, str]:
        whole = path if path.startswith(_SCHEME) else _SCHEME + path
        return ArrowFSWrapper(file_system(whole)), whole.removeprefix(_SCHEME)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix(_SCHEME).rstrip("/")

    def _open(self, path: str, mode: str = "rb", **_options: Any) -> Any:
        if mode != "rb":
            raise PermissionError(f"{path} is read only")
        system, where = self._of(path)
        return system._open(where, mode)

    def info(self, path: str, **_options: Any) -> Any:
        system, where = self._of(path)
        return system.info(where)

    def exists(self, path: str, **_options: Any) -> bool:
        """Return whether a file exists. A store that does not answer is an error, whereas fsspec would report the file
        as missing.
        """
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def ls(self, path: str, detail: bool = True, **_options: Any) -> Any:
        system, where = self._of(path)
        return system.ls(where, detail=detail)

    def modified(self, path: str) -> Any:
        system, where = self._of(path)
        return system.modified(where)

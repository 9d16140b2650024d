"""Removes secrets from a configuration so that it can be shown.

A key is secret by its name, in whatever section it occurs, and so is everything below `properties`, which pyiceberg's
catalogs read; URLs lose their user and password. `Redactor` removes the secrets themselves from other texts, wherever
they occur.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from server.config.config import Config

MASK: Final = "***"
#: This covers all names that Spark redacts itself (spark.redaction.regex).
_SECRET_NAME: Final = re.compile(
    r"secret|passw|token|credential|\bkey\b|access.?key|private|account.?key|sas\b|auth", re.IGNORECASE
)
#: Keys with such names whose values are not secret: files, limits, and names of authorities.
_SHOWN_NAMES: Final = re.compile(r"_file$|^auth_|^authentication_timeout$|^authority$|^authentication$")
_SHOWN_PATHS: Final = (("tls", "key"), ("cluster", "tls", "key"))
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_PASSWORD_PARAMETER: Final = re.compile(r"(?i)((?:password|passwd|token|secret|sig)=)[^&\s]+")
#: Shorter secrets would match text that is not secret.
_SECRET_LENGTH: Final = 4


def show(config: Config) -> Mapping[str, Any]:
    """Return the configuration's values, including defaults, as JSON values."""
    told: Mapping[str, Any] = _show(config.model_dump(mode="json"), ())
    return told


def secrets_of(config: Config) -> frozenset[str]:
    """Return all secrets that the configuration contains or names a file of. Files that cannot be read are skipped."""
    found = set(_secrets(config.model_dump(mode="json"), ()))
    for store in config.stores.values():
        found.add(store.known_secret() or "")
    found.add(config.cluster.secret_bytes().decode(errors="replace"))
    if config.made_secret.is_file():
        found.add(config.made_secret.read_text(errors="replace").strip())
    return frozenset(found)


class Redactor:
    """Removes secrets from texts: the given ones, and passwords in URLs."""

    def __init__(self, secrets: frozenset[str]) -> None:
        # The longest first, since a secret may be a part of another.
        known = sorted((text for text in secrets if len(text) >= _SECRET_LENGTH), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def redact(self, text: str) -> str:
        masked = _masked_urls(text)
        return masked if self._known is None else self._known.sub(MASK, masked)


def _is_secret(path: tuple[str, ...]) -> bool:
    if "properties" in path[:-1]:
        return True
    name = path[-1]
    return path not in _SHOWN_PATHS and not _SHOWN_NAMES.search(name) and _SECRET_NAME.search(name) is not None


def _show(value: Any, path: tuple[str, ...]) -> Any:
    match value:
        case dict():
            return {name: _show(below, (*path, name)) for name, below in value.items()}
        case list():
            return [_show(below, path) for below in value]
        case str() if value:
            return MASK if _is_secret(path) else _masked_urls(value)
        case _:
            return value


def _secrets(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    match value:
        case dict():
            for name, below in value.items():
                yield from _secrets(below, (*path, name))
        case list():
            for below in value:
                yield from _secrets(below, path)
        case str() if value:
            if _is_secret(path):
                yield value
            for found in _USERINFO.finditer(value):
                yield found[0].partition(":")[2]


def _masked_urls(text: str) -> str:
    return _PASSWORD_PARAMETER.sub(rf"\g<1>{MASK}", _USERINFO.sub(MASK, text))

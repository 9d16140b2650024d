"""The sources of a member's configuration (command line, environment, file), and the location of each mistake in them,
for messages.

`server.config.config` defines what the values mean.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from server.config.errors import ConfigurationError
from wire.dataclass import dataclass

_PREFIX: Final = "SLUICE_"
#: Variables that are no keys: the shell's (`server.shell.prompt`), and those that Kubernetes gives to all pods beside a service
#: that is called sluice.
_OTHERS: Final = re.compile(r"SLUICE_(HISTORY|(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?))")
#: Keys whose subkeys are named by the operator.
_NAMES_BELOW: Final = ("settings", "conf")


@dataclass(frozen=True, slots=True)
class Source:
    """Values by key path, with a description of the source for messages."""

    values: Mapping[str, Any]
    name: str
    text: str = ""

    def place(self, path: tuple[str, ...]) -> str:
        line = _line_of(self.text, path)
        return f"{self.name}, line {line}" if line else self.name


@dataclass(frozen=True, slots=True)
class Said:
    """The values of the three sources together. sources: in order of precedence."""

    values: Mapping[str, Any]
    sources: Sequence[Source]

    @classmethod
    def read(
        cls, path: Path | None, flags: Mapping[str, Any] | None, environment: Mapping[str, str] | None = None
    ) -> Said:
        """Read the three sources. Raises ConfigurationError for a file that cannot be read."""
        sources = [_from_flags(flags or {}), _from_environment(os.environ if environment is None else environment)]
        if path is not None:
            sources.append(_from_file(path))
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            merged = _merge(merged, source.values)
        return cls(merged, sources)

    def tell(self, error: Any) -> str:
        """Return the message for one mistake that pydantic found."""
        return _tell(error, self.sources)

    def place(self, path: tuple[str, ...]) -> str:
        """Return the location at which a key was given, for the beginning of a message; empty if it was not given."""
        given = next((source for source in self.sources if value_at(source.values, path) is not None), None)
        return "" if given is None else f"{given.place(path)}: "


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _from_flags(flags: Mapping[str, Any]) -> Source:
    def given_values(values: Mapping[str, Any]) -> dict[str, Any]:
        nested = {k: given_values(v) if isinstance(v, Mapping) else v for k, v in values.items() if v is not None}
        return {k: v for k, v in nested.items() if v != {}}

    return Source(given_values(flags), "command line")


def _from_environment(environment: Mapping[str, str]) -> Source:
    values: dict[str, Any] = {}
    for name, value in environment.items():
        if not name.startswith(_PREFIX) or _OTHERS.fullmatch(name):
            continue
        *parents, key = name[len(_PREFIX) :].lower().split("__")
        level = values
        for parent in parents:
            level = level.setdefault(parent, {})
        level[key] = _split(key, value)
    return Source(values, "environment")


def _split(key: str, value: str) -> str | list[str]:
    """Split the variables that contain lists: folders as in PATH, networks and seeds at commas."""
    if key in ("roots", "copy_roots"):
        return value.split(os.pathsep)
    return (
        [part.strip() for part in value.split(",") if part.strip()] if key in ("trust", "seeds", "buckets") else value
    )


def _from_file(path: Path) -> Source:
    try:
        text = path.read_text()
        values = yaml.safe_load(text) if path.suffix in (".yaml", ".yml") else tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: values are nested too deeply") from None
    except (ValueError, yaml.YAMLError) as error:
        # Also raised for text that is not UTF-8, and for an invalid date.
        raise ConfigurationError(f"{path}: {error}") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: expected keys and values")
    return Source(values, str(path), text)


def place_of(error: Any) -> tuple[tuple[str, ...], str]:
    """Return the key of a mistake, and the message."""
    path = tuple(str(part) for part in error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        message = "there is no such key"
    return _place_in(path, message) if not path or path in (("spark",), ("cluster",)) else (path, message)


def _tell(error: Any, sources: Sequence[Source]) -> str:
    """Return the message of one mistake: the key, the mistake, the location."""
    path, message = place_of(error)
    key = ".".join(path)
    given = next((s for s in sources if value_at(s.values, path) is not None), None)
    found = None if given is None else value_at(given.values, path)
    # A section is not shown, because it may contain a secret.
    told = error["type"] != "extra_forbidden" and not _is_secret(path) and not isinstance(found, Mapping)
    value = f" (given: {found!r})" if given and told else ""
    place = f"{given.place(path)}: " if given else ""
    return f"{place}{key}: {message}{value}"


def _is_secret(path: tuple[str, ...]) -> bool:
    return path[-1:] == ("secret",) or (path[:1] == ("catalogs",) and path[-1:] != ("type",))


def _place_in(section: tuple[str, ...], message: str) -> tuple[tuple[str, ...], str]:
    """Find the key that the message of a section's check is about: `key: what`, or `key: ... "name" ...` for a name below it."""
    key, found, rest = message.partition(": ")
    if not found:
        return section, message
    if key in _NAMES_BELOW and '"' in rest:
        return (*section, key, rest.split('"')[1]), rest
    return (*section, *key.split(".")), rest


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if isinstance(values, list) and part.isdecimal() and int(part) < len(values):
            values = values[int(part)]
        elif isinstance(values, Mapping) and part in values:
            values = values[part]
        else:
            return None
    return values


def _line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line of a file that sets `path`: that of its last key, below its section's header (TOML) or key
    (YAML).
    """
    lines = text.splitlines()
    keys = [part for part in path if not part.isdecimal()]
    if not lines or not keys:
        return None
    start = 0
    for depth, key in enumerate(keys):
        quoted = rf"""["']?{re.escape(key)}["']?"""
        header = re.escape(".".join(keys[: depth + 1]))
        pattern = re.compile(rf"^\s*(?:\[{header}\]|{quoted}\s*[:=])|[{{,]\s*{quoted}\s*=")
        found = next((i for i in range(start, len(lines)) if pattern.search(lines[i])), None)
        if found is None:
            return start + 1 if depth else None
        start = found
    return start + 1

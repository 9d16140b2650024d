"""Reads a topology file (YAML); `engine.plan_ir.topology` defines what it means.

    logical:
      - name: orders
        columns: {o_orderkey: bigint, o_totalprice: "numeric(15,2)"}    # or none: as in the files
    nodes:
      - name: n1
        address: 10.0.0.1:7432
        capacity: 4
        links: [{to: n3, direction: up}]
        physical:
          - {logical: orders, type: parquet, path: orders/north}
      - {name: n3, address: 10.0.0.3:7432}

Three stages run one after another: PyYAML composes a tree of nodes with their lines, pydantic validates the shape, and
`faults` the meaning. All mistakes of a stage are reported together, each with its file, line and key. The tree is kept
only for the lines. Searching the text for a key (as `server.config.config` does for TOML, which has no marks) would
find the wrong one among many nodes that look alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from engine.catalog.model.objects import FileFormat, TableColumn
from engine.plan_ir.topology import (
    Direction,
    Fault,
    Link,
    LogicalSource,
    PhysicalSource,
    Topology,
    TopologyNode,
    faults,
)
from engine.sql.binder.regnames import type_named
from server.config.errors import ConfigurationError
from server.config.key_types import HostPort
from wire.errors import SqlError

_NAME_BYTES: Final = 63


def _is_type(text: str) -> str:
    try:
        type_named(text)
    except SqlError as error:
        raise ValueError(error.message) from None
    return text


def _is_name(text: str) -> str:
    if not 0 < len(text.encode()) <= _NAME_BYTES:
        raise ValueError(f"expected a name of 1 to {_NAME_BYTES} bytes")
    return text


def _as_text(value: Any) -> Any:
    """Return YAML's booleans and numbers as the text of an option."""
    return str(value).lower() if isinstance(value, (bool, int, float)) else value


def _as_link(value: Any) -> Any:
    """Expand `n3` to `{to: n3}`."""
    return {"to": value} if isinstance(value, str) else value


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Logical(_Section):
    name: Annotated[str, AfterValidator(_is_name)]
    columns: dict[Annotated[str, AfterValidator(_is_name)], Annotated[str, AfterValidator(_is_type)]] = {}

    def value(self) -> LogicalSource:
        named = enumerate(self.columns.items(), 1)
        return LogicalSource(self.name, tuple(TableColumn(name, type_named(text), n) for n, (name, text) in named))


class _Physical(_Section):
    logical: str
    type: FileFormat
    path: str = Field(min_length=1)
    options: dict[str, Annotated[str, BeforeValidator(_as_text)]] = {}

    def value(self) -> PhysicalSource:
        return PhysicalSource(self.logical, self.type, self.path, self.options)


class _Link(_Section):
    to: str
    direction: Direction = "both"


class _Node(_Section):
    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,63}$")
    address: HostPort
    links: list[Annotated[_Link, BeforeValidator(_as_link)]] = []
    capacity: int | None = Field(None, ge=1, strict=True)
    physical: list[_Physical] = []

    def value(self) -> TopologyNode:
        links = tuple(Link(link.to, link.direction) for link in self.links)
        return TopologyNode(self.name, self.address, links, tuple(p.value() for p in self.physical), self.capacity)


class _File(_Section):
    logical: list[_Logical] = []
    nodes: list[_Node] = Field(min_length=1)

    def value(self) -> Topology:
        return Topology(tuple(node.value() for node in self.nodes), tuple(source.value() for source in self.logical))


def load_topology(path: Path) -> Topology:
    """Return the topology in a file. Blocks on the file system. Raises ConfigurationError, with a line for each
    mistake.
    """
    tree, values = _read(path)
    _refuse(path, tree, _repeated_keys(tree))
    try:
        topology = _File.model_validate(values).value()
    except ValidationError as error:
        _refuse(path, tree, (Fault(tuple(e["loc"]), _words(e)) for e in error.errors()))
        raise
    _refuse(path, tree, faults(topology))
    return topology


def _read(path: Path) -> tuple[yaml.Node | None, Any]:
    """Read the file as a tree with lines, and as values."""
    try:
        text = path.read_text()
        tree: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        return tree, yaml.safe_load(text) or {}
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: values are nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        # Also raised for text that is not UTF-8, and for an invalid date.
        raise ConfigurationError(f"{path}: {error}") from None


def _refuse(path: Path, tree: yaml.Node | None, found: Iterable[Fault]) -> None:
    """Raise ConfigurationError if there are any mistakes."""
    told = [f"{path}, line {_line(tree, fault.key)}: {_path_text(fault.key)}{fault.message}" for fault in found]
    if told:
        raise ConfigurationError("\n".join(told))


def _words(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such key"
    if error["type"] == "missing":
        return "is missing"
    if error["type"] in ("model_type", "dict_type"):
        return f"expected keys and values (given: {error['input']!r})"
    given = "" if isinstance(error["input"], (dict, list)) else f" (given: {error['input']!r})"
    return str(error["msg"]).removeprefix("Value error, ") + given


def _path_text(key: Sequence[str | int]) -> str:
    """Return a key path as text: `nodes[2].links[0].to: `"""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")
    return f"{words}: " if words else ""


def _line(tree: yaml.Node | None, key: Sequence[str | int]) -> int:
    """Return the line of `key` in a file, or of the nearest enclosing key that it has."""
    line = tree.start_mark.line if tree is not None else 0
    for part in key:
        match tree:
            case yaml.MappingNode():
                found = next(((name, value) for name, value in tree.value if name.value == part), None)
            case yaml.SequenceNode() if isinstance(part, int) and part < len(tree.value):
                found = (tree.value[part], tree.value[part])
            case _:
                found = None
        if found is None:
            break
        line, tree = found[0].start_mark.line, found[1]
    return line + 1


def _repeated_keys(
    tree: yaml.Node | None, key: tuple[str | int, ...] = (), above: tuple[yaml.Node, ...] = ()
) -> Iterator[Fault]:
    """Yield keys that occur twice in one mapping, of which YAML would silently keep the last, and aliases of nodes
    that contain them.
    """
    if any(tree is node for node in above):
        yield Fault(key, "contains itself")
        return
    match tree:
        case yaml.MappingNode():
            seen: set[str] = set()
            for name, value in tree.value:
                if name.value in seen:
                    at = name.start_mark.line + 1
                    yield Fault((*key, name.value), f"is said twice, again in line {at}")
                seen.add(name.value)
                yield from _repeated_keys(value, (*key, name.value), (*above, tree))
        case yaml.SequenceNode():
            for index, item in enumerate(tree.value):
                yield from _repeated_keys(item, (*key, index), (*above, tree))
        case _:
            return

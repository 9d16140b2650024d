"""Measures the cost of a query at its initiator before any member works on it: planning, encoding and sending it to
many members, with many files.

The members are names only, and the messages to them are counted instead of sent. The files exist (CSV, a line each),
since a plan reads the size of each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks.figures import Figure, Measure, median
from benchmarks.ground import Ground
from engine.catalog.model.objects import Table
from engine.lakes.infer import infer_columns
from engine.pg_catalog.fixed_catalog import FixedCatalog
from engine.plan_ir.logical import Root
from engine.planner.codegen import Bindings
from engine.planner.distribute import Setting, distribute, should_distribute
from engine.planner.distribute.dispatch import specs
from engine.planner.planner import optimise
from engine.sql.binder import bind_query
from engine.sql.binder.scope import BindContext, ParameterTypes
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from wire.mesh.control_messages import ControlMessage, Start, encode
from wire.types.text_settings import InputSettings

_SIZES: Final = ((100, 10_000), (100, 100_000), (1_000, 10_000), (1_000, 100_000))
_RUNS: Final = 5
_BAR_SECONDS: Final = 1.0
_PAGE_BYTES: Final = 1 << 20
_NAME: Final = "sluice-data-{:04}.eu-central-1.example.internal"
_QUERY: Final = (
    "select shop, count(*), sum(amount) from sales s join shops k on shop_id = k.id where amount > 10 group by shop"
)


class CountingMesh:
    """Takes messages as `engine.contracts.mesh.Mesh` does, encodes them as a link would, and counts their bytes."""

    def __init__(self) -> None:
        self.bytes = 0

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        del member
        self.bytes += len(encode(message, len(body))) + len(body)
        return True


def _run(ground: Ground) -> Iterator[Figure]:
    shops = _files(ground.folder("shops"), "id,shop\n1,one\n", 1)
    most = _files(ground.folder("sales"), "shop_id,amount\n1,20\n", max(files for _, files in _SIZES))
    for members, files in _SIZES:
        catalog = FixedCatalog({"shops": _table(1, "shops", shops), "sales": _table(2, "sales", most[:files])})
        plan = _planned(catalog)
        names = tuple(_NAME.format(number) for number in range(members))
        taken = [_handed_out(plan, names) for _ in range(1 + _RUNS)][1:]
        bar = _BAR_SECONDS if (members, files) == _SIZES[-1] else None
        label = f"{members:,} members, {files:,} files"
        yield Figure(label, median([run.clock for run in taken]), "s", bar)
        yield Figure(f"{label}: processor time", median([run.processor for run in taken]), "s")
        yield Figure(f"{label}: size of the start messages", taken[0].bytes / 1e6, "MB")


class _HandedOut(NamedTuple):
    """Seconds of the clock and of this process's threads, and the bytes of all messages."""

    clock: float
    processor: float
    bytes: int


def _handed_out(plan: Root, names: tuple[str, ...]) -> _HandedOut:
    """Measure from the logical plan to the last member's `start`."""
    started, used = time.perf_counter(), time.process_time()
    setting = Setting(names, names[0])
    spread, reason = should_distribute(plan, "always", setting)
    physical = distribute(plan, setting, reason)
    _, members = specs(physical, Bindings({}, {}, "UTC"), "UTC", _PAGE_BYTES)
    mesh = CountingMesh()
    participants = physical.participants
    for member in participants[1:]:
        mesh.send(member, Start("m:1", participants), msgspec.msgpack.encode(members[member]))
    clock, processor = time.perf_counter() - started, time.process_time() - used
    if not spread or len(participants) != len(names):
        raise RuntimeError(f"{len(participants)} of {len(names)} members take part")
    return _HandedOut(clock, processor, mesh.bytes)


def _planned(catalog: FixedCatalog) -> Root:
    (query,) = parse(_QUERY)
    assert isinstance(query, Query)
    return optimise(bind_query(query, BindContext(catalog, ("public",), InputSettings(), ParameterTypes(()))).plan)


def _files(folder: Path, text: str, count: int) -> tuple[str, ...]:
    paths = [folder / f"part-{number:06}.csv" for number in range(count)]
    for path in paths:
        path.write_text(text)
    return tuple(map(str, paths))


def _table(oid: int, name: str, files: tuple[str, ...]) -> Table:
    options = {"header": "true"}
    columns = infer_columns(files[:1], "csv", options)
    return Table(oid, "public", name, columns, "csv", files[0], files, 1, options)


MEASURE: Final = Measure(
    "mesh_planning",
    "Planning for many members and many files",
    f"`{_QUERY}`, with `sales` in CSV files of equal size and `shops` in one file. Measured from the optimised "
    "logical plan to the physical plan, with its fragments compiled and a `start` message encoded for each member "
    f"and passed to a mesh that counts its bytes. Everything runs in the benchmark's process; median of {_RUNS} runs "
    "after one warm-up run, which caches the sizes of the files. Processor time depends less on other load on the "
    f"machine. Members have names like `{_NAME.format(7)}`.",
    _run,
)

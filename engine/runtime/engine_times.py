"""The speeds of a member's engines: measured once, corrected by the times of statements, kept in the data directory.

    times = EngineTimes(machine, file); times.model(...)     # a value, for the planner
    stream = times.watch(stream, "local", expected)          # a stream that reports how long it took

**Correction.** For each engine two factors are kept, one for the fixed time of a statement and one for its work. A statement
corrects the factor of the larger part of its expected time: by a fraction (`_PART`) of the logarithm of actual over
expected time, so that half as long and twice as long count the same. One statement counts as at most `_STEP_MAX` off,
and no factor exceeds `_FACTOR_MAX` either way, so that neither a disk that hung nor an hour of a busy machine makes an
engine unusable.

**Which times count.** Only the time within `next_batch`, since the engine is not responsible for a client that reads slowly; and
only if no other watched stream was asked for a batch meanwhile, and the client took no longer than the engine, which
works ahead while the client does. A stream that is closed before its end tells only a lower bound, which counts if it
is more than the expected time. A statement that was expected to take less than `_WATCHED_SECONDS` does not count; on
Spark it does if it took longer.

**The model** that planners see changes when a factor has moved by `_MOVED` since the last change: the model is a part of the key of
compiled statements, which would otherwise be compiled anew with each statement. It is written to the file then, too. If
the file cannot be read or written, the error is logged and the member runs without it.

Rejected: trying the other engine now and then to learn its speed. A client would wait for it. Statements with
`sluice.engine = spark` tell how long Spark takes.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass as mutable
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from engine.contracts.batch_stream import BatchStream, engine_of
from engine.contracts.query_id import EngineName
from engine.planner.engine_model import LOCAL_SPEED, SPARK_SPEED, SPARK_START, EngineModel, Expected
from wire.dataclass import dataclass

_log: Final = logging.getLogger(__name__)
#: The fraction of a statement's deviation by which a factor is corrected.
_PART: Final = 0.2
_STEP_MAX: Final = math.log(4)
_FACTOR_MAX: Final = math.log(8)
#: The logarithm of the change of a factor above which the model changes.
_MOVED: Final = math.log(1.25)
_WATCHED_SECONDS: Final = 0.05
_START_MIN: Final = 1.0
_START_MAX: Final = 120.0
_SPEED_MAX: Final = 8.0


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts that are kept in the file. speed: that of the cores, relative to those that the model's constants were
    measured on; None if not measured. local, spark: the logarithms of an engine's factors, for its fixed time and for
    its work. spark_start: in seconds.
    """

    speed: float | None = None
    local: tuple[float, float] = (0.0, 0.0)
    spark: tuple[float, float] = (0.0, 0.0)
    spark_start: float = SPARK_START


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts that do not change. local_cores: threads of the local engine. local_memory: bytes. shared: whether
    Spark's tasks run on this machine, too.
    """

    local_cores: int = 2
    local_memory: int = 2 << 30
    shared: bool = True


@mutable
class _Watch:
    """A stream that is observed. inside: the seconds within `next_batch`. disturbed: whether another stream was asked
    for a batch at the same time.
    """

    engine: EngineName
    expected: Expected
    begun: float
    inside: float = 0.0
    disturbed: bool = False


class EngineTimes:
    """See the module's docstring. save: saves the known facts in the file. clock: seconds."""

    def __init__(
        self,
        machine: Machine,
        known: Known,
        save: Callable[[Known], None] = lambda _known: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._machine = machine
        #: All known facts. Those that planners see may be some statements older.
        self.known = known
        self._save = save
        self._published = known
        self._models: dict[tuple[float, bool, int], EngineModel] = {}
        self._watches: dict[int, _Watch] = {}

    @property
    def is_measured(self) -> bool:
        return self.known.speed is not None

    def model(self, spark_cores: float, *, spark_started: bool, busy: int = 0) -> EngineModel:
        """Return the current model, the same object as long as it does not change. busy: the number of statements that
        occupy the local engine's cores; it counts if Spark has cores elsewhere.
        """
        # Rounded to powers of two, because each model is another key of compiled statements.
        halved = 0 if self._machine.shared else min(busy, 7).bit_length()
        key = (spark_cores, spark_started, halved)
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = self._make_model(*key)
        return model

    def _make_model(self, spark_cores: float, spark_started: bool, halved: int) -> EngineModel:
        known, machine = self._published, self._machine
        slower = 1 / (known.speed or 1.0)
        spark_slower = slower if machine.shared else 1.0
        return EngineModel(
            LOCAL_SPEED.scale(math.exp(known.local[0]) * slower, math.exp(known.local[1]) * slower),
            SPARK_SPEED.scale(math.exp(known.spark[0]) * spark_slower, math.exp(known.spark[1]) * spark_slower),
            machine.local_cores / (1 << halved),
            spark_cores,
            machine.local_memory,
            0.0 if spark_started else known.spark_start,
        )

    # -- what is told --------------------------------------------------------------------------------------------

    def note_speed(self, speed: float) -> None:
        """Record the measured speed of the machine."""
        self._change(msgspec.structs.replace(self.known, speed=_clamp(speed, 1 / _SPEED_MAX, _SPEED_MAX)), publish=True)

    def note_spark_start(self, seconds: float) -> None:
        """Record the time that Spark took to start."""
        self._change(msgspec.structs.replace(self.known, spark_start=_clamp(seconds, _START_MIN, _START_MAX)))

    def note(self, engine: EngineName, expected: Expected, seconds: float) -> None:
        """Record the time that a statement took on an engine, undisturbed by others."""
        factors = list(self.known.local if engine == "local" else self.known.spark)
        at = 0 if expected.fixed >= expected.work else 1
        wanted, other = (expected.fixed, expected.work) if at == 0 else (expected.work, expected.fixed)
        if wanted <= 0:
            return
        ratio = max(seconds - other, wanted * math.exp(-_STEP_MAX)) / wanted
        step = min(math.log(ratio), _STEP_MAX)
        # The expected time contains the published factor, so a later correction must not be applied twice.
        published = (self._published.local if engine == "local" else self._published.spark)[at]
        moved = factors[at] + _PART * (published + step - factors[at])
        factors[at] = _factor(moved)
        self._change(msgspec.structs.replace(self.known, **{engine: (factors[0], factors[1])}))

    def _change(self, known: Known, *, publish: bool = False) -> None:
        self.known = known
        if publish or _has_moved(self._published, known):
            self._published = known
            self._models.clear()
            self._save(known)

    # -- streams -------------------------------------------------------------------------------------------------

    def watch(self, stream: BatchStream, engine: EngineName, expected: Expected | None, begun: float) -> BatchStream:
        """Return the stream, wrapped in an observer if its time may count. begun: when it started to be opened, by the
        clock.
        """
        if expected is None or (engine == "local" and expected.total < _WATCHED_SECONDS):
            return stream
        watch = _Watch(engine, expected, begun, self.clock() - begun)
        return WatchedStream(self, stream, watch)

    def enter(self, watch: _Watch) -> None:
        """Note that a stream is asked for a batch."""
        for other in self._watches.values():
            other.disturbed = watch.disturbed = True
        self._watches[id(watch)] = watch

    def leave(self, watch: _Watch) -> None:
        """Note that it has answered."""
        self._watches.pop(id(watch), None)

    def end(self, watch: _Watch, *, complete: bool) -> None:
        """Note that a stream has ended. complete: it has delivered all of its rows."""
        outside = self.clock() - watch.begun - watch.inside
        told = watch.inside > watch.expected.total if not complete else outside <= watch.inside
        if told and not watch.disturbed and max(watch.inside, watch.expected.total) >= _WATCHED_SECONDS:
            self.note(watch.engine, watch.expected, watch.inside)


class WatchedStream:
    """A stream whose time is reported to `EngineTimes` (`engine.contracts.batch_stream.BatchStream`)."""

    def __init__(self, times: EngineTimes, stream: BatchStream, watch: _Watch) -> None:
        self._times = times
        self._stream = stream
        self._watch: _Watch | None = watch
        self.engine_name: Final = engine_of(stream)

    async def next_batch(self) -> pa.RecordBatch | None:
        watch = self._watch
        if watch is None:
            return await self._stream.next_batch()
        begun = self._times.clock()
        self._times.enter(watch)
        try:
            batch = await self._stream.next_batch()
        finally:
            self._times.leave(watch)
            watch.inside += self._times.clock() - begun
        if batch is None:
            self._end(complete=True)
        return batch

    async def close(self) -> None:
        self._end(complete=False)
        await self._stream.close()

    def statistics(self) -> Mapping[str, int]:
        return self._stream.statistics()

    def _end(self, *, complete: bool) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            self._times.end(watch, complete=complete)


def _has_moved(before: Known, now: Known) -> bool:
    pairs = [*zip(before.local, now.local, strict=True), *zip(before.spark, now.spark, strict=True)]
    pairs.append((math.log(before.spark_start), math.log(now.spark_start)))
    return any(abs(one - other) > _MOVED for one, other in pairs)


# -- the file ----------------------------------------------------------------------------------------------------


_KNOWN: Final = msgspec.json.Decoder(Known)


class KnownFile:
    """The file in which a member keeps the known facts about its engines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def load(self) -> Known:
        """Read the known facts; the defaults if there is no readable file. Blocks on the disk."""
        try:
            return _within_limits(_KNOWN.decode(self._path.read_bytes()))
        except FileNotFoundError:
            return Known()
        except (OSError, msgspec.DecodeError) as error:
            _log.warning("could not read the engines' times: %s", error)
            return Known()

    def save(self, known: Known) -> None:
        """Write the known facts. Blocks on the disk; may be called on any thread."""
        written = self._path.with_name(self._path.name + ".new")
        try:
            with self._lock:
                written.write_bytes(msgspec.json.encode(known))
                written.replace(self._path)
        except OSError as error:
            _log.warning("could not write the engines' times: %s", error)


def _within_limits(known: Known) -> Known:
    """Return the facts of a file, each limited to its plausible range."""
    speed = None if known.speed is None else _clamp(known.speed, 1 / _SPEED_MAX, _SPEED_MAX)
    local, spark = ((_factor(pair[0]), _factor(pair[1])) for pair in (known.local, known.spark))
    return Known(speed, local, spark, _clamp(known.spark_start, _START_MIN, _START_MAX))


def _factor(value: float) -> float:
    return _clamp(value, -_FACTOR_MAX, _FACTOR_MAX)


def _clamp(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)

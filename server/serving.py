# ruff: noqa: E402 -- the garbage collector rests while the rest is imported
"""`sluice serve`: a member's process, from the setup of its log and event loop to its exit.

It prints one line when clients can connect, and on SIGTERM or SIGINT closes everything in reverse order
(`server.member`) and exits.
"""

from __future__ import annotations

import gc

# Imported objects stay alive; collecting garbage among them repeatedly takes a sixth of the imports' time.
gc.disable()

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import uvloop

from server.common.descriptors import raise_limit
from server.common.ended_line import ENDED_LINE
from server.common.full_collections import FullCollections
from server.common.unused_memory import UnusedMemory
from server.config.errors import CannotStart, ConfigurationError
from server.config.start_files import read_setting
from server.logs.lines import formatter_of
from server.member import Member
from server.monitor.tracing_setup import record_spans
from wire.errors import SqlError

gc.enable()

if TYPE_CHECKING:
    from server.config.config import Config
    from server.processes.place import Place

log: Final = logging.getLogger(__name__)
#: Seconds that a thread waits for the interpreter's lock before it asks for it. The loop's thread takes the lock anew
#: after each call of the system, also while other threads plan or encode. With the interpreter's 5 ms, sixteen clients
#: have a fifth fewer short statements a second; with a tenth of a millisecond, switches cost more than they save.
_SWITCH_SECONDS: Final = 0.001
#: Seconds for the shutdown after the members' drain time.
_END_SECONDS: Final = 15.0


async def _serve(config: Config, place: Place | None) -> bool:
    """Serve until a signal ends the process. Returns whether all threads have ended that would block the interpreter's
    exit.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    member = Member(config, place)
    await member.start()
    # The objects made so far stay alive; collections that visit them would stop every session for 0.1 s and more.
    gc.collect()
    gc.freeze()
    engine = member.engine
    collections = FullCollections(
        lambda: engine.planning.live_nodes,
        engine.config.memory_bytes,
        engine.background.supervise("collections"),
    )
    collections.start()
    unused = UnusedMemory(engine.background.supervise("trim"))
    unused.start()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        reloads.add(task := loop.create_task(member.reload()))
        task.add_done_callback(reloads.discard)

    loop.add_signal_handler(signal.SIGHUP, reload)
    try:
        if place is None:
            _print_line(member.ready_line())
        else:
            place.announce(member.ready_line())
            log.info("process %d takes clients as member %s: %s", place.number + 1, config.member, member.ready_line())
        await stop.wait()
    finally:
        seconds = config.cluster.drain_seconds + _END_SECONDS
        last = threading.Timer(seconds, _end_anyway, (seconds,))
        last.daemon = True
        last.start()
        try:
            await member.close()
        finally:
            unused.close()
            collections.close()
            last.cancel()
            # DuckDB's binding reports objects that are frozen when the interpreter ends as leaked, in many lines.
            gc.unfreeze()
    return not engine.abandoned_threads


def _end_anyway(seconds: float) -> None:
    """End a process whose shutdown hangs, after printing its threads' stacks. seconds: those that it had."""
    print(f"sluice: the member could not end within {seconds:g} s; its threads are:", file=sys.stderr)  # noqa: T201
    faulthandler.dump_traceback()
    os._exit(1)


def configure_log(config: Config) -> None:
    """Configure the process's log by the configuration."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter_of(read_setting(config, "log_destination"), read_setting(config, "log_line_prefix")))
    logging.basicConfig(level=config.log_level.upper(), handlers=[handler])
    for name, level in (("py4j", logging.WARNING), ("sqlglot", logging.ERROR), ("uvicorn", logging.WARNING)):
        logging.getLogger(name).setLevel(level)


def _print_line(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def run(config: Config, place: Place | None = None) -> int:
    """Serve until a signal ends the process. Returns the process's exit status. place: of one of several processes."""
    configure_log(config)
    raise_limit()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        Path(config.data).mkdir(parents=True, exist_ok=True)
        with record_spans(config.tracing, config.member):
            has_ended = uvloop.run(_serve(config, place))
    except SqlError as error:
        hint = f" ({error.hint})" if error.hint else ""
        print(f"sluice: {error.message}{hint}", file=sys.stderr)  # noqa: T201
        return 1
    except (CannotStart, ConfigurationError, OSError) as error:
        print(f"sluice: {error}", file=sys.stderr)  # noqa: T201
        return 1
    if place is None:
        _print_line(ENDED_LINE)
    if not has_ended:
        _leave()
    return 0


def _leave() -> NoReturn:
    """End the process although DuckDB still holds a thread, without tearing down what the thread would return to.
    Everything else is closed, and the log names what was abandoned.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)

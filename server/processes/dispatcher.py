"""The process in front of a server's members: it accepts clients, hands each to one member, and keeps the members
running.

It has one thread, no asyncio loop and no engine, because members are forked from it at any time, also to replace one
that has died. A client goes to the member with the fewest connections. While no member takes clients, they wait in the
kernel's queue.

SIGTERM or SIGINT ends it: it stops listening, tells the members, and waits until they have drained. A member that ends
by itself before it was ever ready ends the server, since its successor would fail in the same way.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from server.config.address import Address
from server.config.config import Config
from server.processes.counts import SharedCounts
from server.processes.place import Place, hand_client
from wire.dataclass import dataclass
from wire.errors import CannotConnectNow, FatalError, TooManyConnections
from wire.pg import messages as m

log: Final = logging.getLogger(__name__)
_BACKLOG: Final = 512
#: The number of clients that are accepted before other events are handled.
_BATCH: Final = 64
#: Seconds until a member that has died is started again.
_AGAIN_SECONDS: Final = 1.0
#: Seconds without accepting clients after the system had no resources for one.
_PAUSE_SECONDS: Final = 0.5
#: More bytes than a startup packet has.
_STARTUP_BYTES: Final = 16_384
_LINE_BYTES: Final = 4096
#: Runs a member and returns its exit status.
Run = Callable[[Config, Place], int]


class CannotListen(Exception):
    """The server cannot listen; the message gives the operator the reason."""


@dataclass(slots=True)
class _Process:
    """One member's process. pid: 0 while it does not run. handed: the number of connections that were handed to it.
    ready: its ready line while it takes clients, else empty. has_served: whether it was ever ready.
    """

    number: int
    config: Config
    pid: int = 0
    channel: socket.socket | None = None
    handed: int = 0
    ready: str = ""
    has_served: bool = False
    start_at: float = 0.0


class Dispatcher:
    """See the module's docstring. configs: of the members. run: runs a member in a forked process."""

    def __init__(self, listen: Address, configs: Sequence[Config], run: Run) -> None:
        self._listen = listen
        self._run_member = run
        self._counts = SharedCounts(len(configs))
        self._processes = [_Process(number, config) for number, config in enumerate(configs)]
        self._selector = selectors.DefaultSelector()
        self._listening: list[socket.socket] = []
        self._accepting = False
        #: Until then no clients are accepted; 0: they are, if a member takes them.
        self._paused_until = 0.0
        self._signals, self._wake = socket.socketpair()
        self._announced = False
        self._stopping = False
        self._status = 0

    def serve(self) -> int:
        """Run until a signal ends the server. Returns the exit status. Raises CannotListen."""
        self._listening = _bind(self._listen)
        for each in (self._signals, self._wake):
            each.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, _ignore_signal)
        self._selector.register(self._signals, selectors.EVENT_READ, self._read_signals)
        for process in self._processes:
            self._start(process)
        while not self._stopping or any(process.pid for process in self._processes):
            for key, _ in self._selector.select(self._seconds_to_wait()):
                key.data()
            self._start_again()
            self._accept_again()
        for each in (self._signals, self._wake):
            each.close()
        self._selector.close()
        return self._status

    # -- members -------------------------------------------------------------------------------------------------

    def _start(self, process: _Process) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        addresses = [each.getsockname()[:2] for each in self._listening]
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            self._become(process, ours, Place(process.number, theirs, addresses, self._counts))
        theirs.close()
        ours.setblocking(False)
        process.pid, process.channel, process.handed, process.ready = pid, ours, 0, ""
        self._selector.register(ours, selectors.EVENT_READ, lambda: self._hear(process, ours))

    def _become(self, process: _Process, ours: socket.socket, place: Place) -> None:
        """In the forked process, close the dispatcher's resources and run a member until its end."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self._selector.close()
            channels = [other.channel for other in self._processes if other.channel is not None]
            for each in (ours, self._signals, self._wake, *self._listening, *channels):
                each.close()
            status = self._run_member(process.config, place)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # os._exit, because the frames above are the dispatcher's and must not be unwound here.
            os._exit(status)

    def _hear(self, process: _Process, channel: socket.socket) -> None:
        """Handle a member's ready line, or the end of its channel."""
        if process.channel is not channel:
            # An earlier event of the same round has found the member dead.
            return
        try:
            message = channel.recv(_LINE_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            message = b""
        if not message:
            self._close_channel(process)
            return
        process.ready, process.has_served = message.decode(), True
        self._set_accepting()
        if not self._announced and all(each.ready for each in self._processes):
            self._announced = True
            print(f"{self._processes[0].ready} processes={len(self._processes)}", flush=True)  # noqa: T201

    def _close_channel(self, process: _Process) -> None:
        if process.channel is not None:
            self._selector.unregister(process.channel)
            process.channel.close()
            process.channel = None
        process.ready = ""
        self._set_accepting()

    def _reap(self) -> None:
        for process in self._processes:
            if not process.pid:
                continue
            pid, how = os.waitpid(process.pid, os.WNOHANG)
            if not pid:
                continue
            process.pid = 0
            self._close_channel(process)
            self._counts.reset(process.number)
            if self._stopping:
                self._status = self._status or os.waitstatus_to_exitcode(how)
            elif process.has_served:
                log.error(
                    "process %d of member %s has ended (%s): it is started again",
                    pid, process.config.member, os.waitstatus_to_exitcode(how),
                )  # fmt: skip
                process.start_at = time.monotonic() + _AGAIN_SECONDS
            else:
                self._status = os.waitstatus_to_exitcode(how) or 1
                self._stop()

    def _seconds_to_wait(self) -> float | None:
        """Return the seconds until a member is to be started again, or clients are to be accepted again, if any."""
        waiting = [each.start_at for each in self._processes if not each.pid and not self._stopping]
        if self._paused_until:
            waiting.append(self._paused_until)
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def _start_again(self) -> None:
        for process in self._processes:
            if not process.pid and not self._stopping and process.start_at <= time.monotonic():
                self._start(process)

    # -- clients -------------------------------------------------------------------------------------------------

    def _set_accepting(self) -> None:
        takes = any(process.ready for process in self._processes)
        wanted = takes and not self._stopping and not self._paused_until
        if wanted == self._accepting:
            return
        self._accepting = wanted
        for each in self._listening:
            if wanted:
                self._selector.register(each, selectors.EVENT_READ, lambda each=each: self._accept_clients(each))
            else:
                self._selector.unregister(each)

    def _accept_clients(self, listening: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                client, _ = listening.accept()
            except BlockingIOError:
                # No client waits any more.
                return
            except ConnectionError:
                # This one has disconnected while it waited.
                continue
            except OSError as error:
                self._pause(error)
                return
            with client:
                self._hand(client)

    def _pause(self, error: OSError) -> None:
        """Accept no clients for a while, because the system lacks descriptors or memory for one. It stays in the
        kernel's queue, so the selector would report it again at once.
        """
        log.error("could not accept a client's connection: %s; tried again in %g s", error, _PAUSE_SECONDS)
        self._paused_until = time.monotonic() + _PAUSE_SECONDS
        self._set_accepting()

    def _accept_again(self) -> None:
        if self._paused_until and self._paused_until <= time.monotonic():
            self._paused_until = 0.0
            self._set_accepting()

    def _hand(self, client: socket.socket) -> None:
        """Hand a client to the member with the fewest connections, or to another one if its channel is full. A client
        that no member can take is refused.
        """
        refusal: FatalError = CannotConnectNow("the database system is starting up")
        for process in sorted((each for each in self._processes if each.ready), key=self._connections):
            assert process.channel is not None
            try:
                hand_client(process.channel, client)
            except BlockingIOError:
                refusal = TooManyConnections("sorry, too many clients already")
                continue
            except OSError:
                # The member is ending.
                continue
            process.handed += 1
            return
        _refuse(client, refusal)

    def _connections(self, process: _Process) -> int:
        return process.handed - self._counts.count_closed(process.number)

    # -- signals -------------------------------------------------------------------------------------------------

    def _read_signals(self) -> None:
        for number in self._signals.recv(64):
            match number:
                case signal.SIGCHLD:
                    self._reap()
                case signal.SIGHUP:
                    self._tell(signal.SIGHUP)
                case _:
                    self._stop()

    def _stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        self._set_accepting()
        for each in self._listening:
            each.close()
        self._tell(signal.SIGTERM)

    def _tell(self, number: signal.Signals) -> None:
        for process in self._processes:
            if process.pid:
                os.kill(process.pid, number)


def _refuse(client: socket.socket, error: FatalError) -> None:
    """Tell a client why it is refused, as far as this is possible without waiting. Its startup packet is not awaited, as
    by a postmaster that cannot fork.
    """
    client.setblocking(False)
    with contextlib.suppress(OSError):
        client.send(m.ErrorResponse.of(error).encode("UTF8"))
        # With unread input the socket's end would be a reset, which may overtake the message.
        client.shutdown(socket.SHUT_WR)
        client.recv(_STARTUP_BYTES)


def _ignore_signal(_number: int, _frame: object) -> None:
    """Do nothing: the wakeup descriptor has notified the loop."""


def _bind(listen: Address) -> list[socket.socket]:
    """Listen on all addresses of the host. Raises CannotListen."""
    bound: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = socket.socket(family, kind, protocol)
            bound.append(each)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # All addresses of a host get the port that the system chose for the first one.
            port = address[1] or (bound[0].getsockname()[1] if len(bound) > 1 else 0)
            each.bind((address[0], port, *address[2:]))
            each.listen(_BACKLOG)
            each.setblocking(False)
    except OSError as error:
        for each in bound:
            each.close()
        raise CannotListen(f"listen: cannot listen on {listen}: {error.strerror or error}") from None
    return bound

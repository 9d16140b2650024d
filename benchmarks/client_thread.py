"""Clients that send statements to a member at the same time, each on a thread of its own."""

from __future__ import annotations

import abc
import itertools
import threading
import time
from collections.abc import Sequence
from typing import Any

import psycopg


class ClientThread(threading.Thread, abc.ABC):
    """A client that takes its steps until its time is over. seconds: the time. commits: those that the server
    acknowledged.
    """

    def __init__(self, number: int, connection: psycopg.Connection[Any], seconds: float) -> None:
        super().__init__(name=f"client-{number}")
        self.number = number
        self.connection = connection
        self.commits = 0
        self.failure: BaseException | None = None
        self._seconds = seconds

    def run(self) -> None:
        end = time.monotonic() + self._seconds
        try:
            for step in itertools.count():
                if time.monotonic() >= end:
                    return
                self.take_step(step)
        except BaseException as error:  # noqa: BLE001 - `run_clients` raises it
            self.failure = error

    @abc.abstractmethod
    def take_step(self, number: int) -> None: ...


def run_clients(clients: Sequence[ClientThread]) -> None:
    """Run clients side by side to their end, and close their connections. Raises the error with which one of them has
    failed.
    """
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for client in clients:
        client.connection.close()
        if client.failure is not None:
            raise client.failure

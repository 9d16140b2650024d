"""Shows a progress bar from the progress notices of a running statement (`sluice.progress`), and other notices as they
arrive.

The bar is on standard error, appears with the first notice of progress, and disappears when the statement has ended.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Final, Self

from psycopg.errors import Diagnostic
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

_PROGRESS: Final = re.compile(r"progress: (?P<what>.*)")
_TASKS: Final = re.compile(r"(\d+) of (\d+) tasks done")


class Waiting:
    """A context manager around one statement; `notice` is called with the server's notices meanwhile."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def notice(self, said: Diagnostic) -> None:
        text = said.message_primary or ""
        if self._console.is_terminal and (progress := _PROGRESS.fullmatch(text)) is not None:
            self._show(progress["what"])
            return
        self._console.print(f"{said.severity}:  {text}", markup=False, soft_wrap=True)
        for label, more in (("DETAIL", said.message_detail), ("HINT", said.message_hint)):
            if more:
                self._console.print(f"{label}:  {more}", markup=False, soft_wrap=True)

    def _show(self, what: str) -> None:
        tasks = _TASKS.search(what)
        done, known = (int(tasks[1]), int(tasks[2])) if tasks is not None else (0, None)
        if self._bar is None or self._task is None:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False), BarColumn(), console=self._console, transient=True
            )
            self._task = self._bar.add_task(what, total=known)
            self._bar.start()
        self._bar.update(self._task, description=what, completed=done, total=known)

"""Counters of the fragments and streams of a member's queries: of running ones, and for some time of those that have
ended.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.contracts.activity import Observed
from engine.runtime.ended_figures import EndedFigures
from engine.runtime.mailboxes import Mailboxes
from engine.runtime.query_run import QueryRun
from engine.runtime.stream_counts import edges_of, fragments_of


class RunFigures:
    """See the module's docstring. runs: those of the member, by query."""

    def __init__(self, runs: Mapping[str, QueryRun], mailboxes: Mailboxes, member: str) -> None:
        self._runs = runs
        self._mailboxes = mailboxes
        self._member = member
        self._ended = EndedFigures()

    @property
    def streams_out(self) -> int:
        """How many streams of instances that run here are open."""
        return sum(len(output.streams) for run in self._runs.values() for output in run.outputs.values())

    def observe(self, query: str = "") -> Observed:
        """The fragments that run here and the streams that end or begin here. query: only this one's, whose last figures are there
        for some time after its end."""
        runs = list(self._runs.values()) if not query else [run for run in (self._runs.get(query),) if run is not None]
        observed = (
            [fragment for run in runs for fragment in fragments_of(run, self._member)],
            [edge for run in runs for edge in edges_of(run, self._mailboxes, self._member)],
        )
        return self._ended.find(query, observed)

    def keep(self, query: str) -> None:
        """Keep a query's figures, before its streams are let go of."""
        if query in self._runs:
            self._ended.keep(query, self.observe(query))

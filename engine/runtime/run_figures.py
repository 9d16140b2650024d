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
    """See the module's docstring. runs: the member's runs, by query."""

    def __init__(self, runs: Mapping[str, QueryRun], mailboxes: Mailboxes, member: str) -> None:
        self._runs = runs
        self._mailboxes = mailboxes
        self._member = member
        self._ended = EndedFigures()

    @property
    def streams_out(self) -> int:
        """The number of open streams of instances that run here."""
        return sum(len(output.streams) for run in self._runs.values() for output in run.outputs.values())

    def observe(self, query: str = "") -> Observed:
        """Return the counters of the fragments that run here and of the streams that end or begin here. query: only
        those of this one; its final figures are available for some time after its end.
        """
        runs = list(self._runs.values()) if not query else [run for run in (self._runs.get(query),) if run is not None]
        observed = (
            [fragment for run in runs for fragment in fragments_of(run, self._member)],
            [edge for run in runs for edge in edges_of(run, self._mailboxes, self._member)],
        )
        return self._ended.find(query, observed)

    def keep(self, query: str) -> None:
        """Keep a query's figures, before its streams are released."""
        if query in self._runs:
            self._ended.keep(query, self.observe(query))

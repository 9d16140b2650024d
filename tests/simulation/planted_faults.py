"""Faults of one line, planted into the code that connects the state machines: does the simulation find them?

    python tests/simulation/planted_faults.py         # all, as a table; exit status 1 if one is not found

Faults of the machines themselves are planted in the exploration (`tests/exploration/mutants.py`). A fault that is
planted here shows only with a network, a planner or an engine, which no world of the exploration has.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
# It is also run as a program, which finds nothing but what is beside it.
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT)]

from support.planting import Fault, plant, run_hunts  # noqa: E402

#: So many seeds are tried.
SEEDS: Final = 400
_RUNTIME: Final = "engine.runtime.runtime"
_CHANNELS: Final = "engine.runtime.channels"
_STREAM: Final = "engine.runtime.distributed_stream"
_OUTPUT: Final = "engine.runtime.edge_output"
_CURSORS: Final = "server.cluster.initiator_cursors"
_ROUTING: Final = "server.cluster.cursor_routing"
_REMOTE: Final = "server.cursors.remote_cursors"
_POLICY: Final = "engine.statements.shared.fault_policy"

FAULTS: Final = (
    Fault("a stream that breaks is nobody's business", _RUNTIME, "if not fatal:", "if True:"),
    Fault(
        "a query that waits does not outlive its connections",
        _CHANNELS,
        "kept = None if backlog is None else backlog.first",
        "kept = None",
    ),
    Fault("a query is finished before all has arrived", _STREAM, "if self._run.inputs.all_arrived:", "if True:"),
    Fault("rows are repeated that were given already", _POLICY, "if self._begun:", "if False:"),
    Fault(
        "one receiver's end is all receivers'",
        _OUTPUT,
        "*(self._finish(number) for number in range(len(self._opening)))",
        "self._finish(0)",
    ),
    Fault(
        "merge up to the greatest of the last keys",
        "engine.exchange.ordered_merge",
        "return min(_key(head",
        "return max(_key(head",
    ),
    Fault(
        "every spooled batch begins its file",
        "engine.exchange.spool",
        "place = Place(self._end, len(body))",
        "place = Place(0, len(body))",
    ),
    Fault("LIMIT counts nothing", "engine.exchange.limit", "self._left -= taken if self._left > 0 else 0", "pass"),
    Fault(
        "a member that was lost is not dialled again",
        "server.cluster.dial_targets",
        "target.next_at = now + pause",
        "target.next_at = now + 1e9 * pause",
    ),
    Fault(
        "a query that waits for members goes on without them",
        _POLICY,
        "while absent_members(mesh, self._members):",
        "while False:",
    ),
    Fault(
        "all receivers are told the rows of the first",
        "engine.runtime.query_run",
        "self._host.channels.announce_streams(self.query, edge, sender, receiver, sent.rows.get(receiver, {}))",
        "self._host.channels.announce_streams(self.query, edge, sender, receiver, sent.rows.get(0, {}))",
    ),
    Fault(
        "an ordered reader passes over streams that go on",
        "engine.exchange.reading_order",
        "return stream.complete and known",
        "return known",
    ),
    Fault(
        "a merge takes a stream that is late for one that has ended",
        "engine.exchange.receive",
        "if stream.complete if stream is not None else self.promised.is_missing(partition):",
        "if stream is None or stream.complete:",
    ),
    # -- cursors that are read from several members --------------------------------------------------------------------
    Fault(
        "a FETCH passes rows that are not settled",
        _CURSORS,
        "while self._unsettled.has(find_cursor(self._registry, question)[2]):",
        "while False:",
    ),
    Fault(
        "rows that are on their way to a lost member stay so",
        _ROUTING,
        "        self._unsettled.lost(member)\n",
        "",
    ),
    Fault(
        "rows that a member has abandoned stay on their way",
        _ROUTING,
        "            task.cancel()\n        self._unsettled.abandon(asked)",
        "            task.cancel()",
    ),
    Fault("no rows are on their way", _CURSORS, "        self._unsettled.add(asked, portal)\n", ""),
    Fault(
        "settled rows stay on their way",
        _CURSORS,
        '"""Note that the rows have arrived."""\n        self._remove(key)',
        '"""Note that the rows have arrived."""',
    ),
    Fault(
        "the rest of a batch begins one row too late",
        "server.cursors.cursor",
        "self._rest = batch.slice(limit)",
        "self._rest = batch.slice(limit + 1)",
    ),
    Fault(
        "each page of a FETCH may have as many rows as all of it",
        _REMOTE,
        "        self._left -= passed\n",
        "        pass\n",
    ),
    Fault(
        "a page that its client has not got is not abandoned",
        _REMOTE,
        "            self._cursor.abandon(last)\n",
        "            pass\n",
    ),
)


def hunt(fault: Fault) -> str | None:
    """Run seeds in this process until one fails. Returns the failure."""
    plant(fault)
    from simulated.lake import Lake, make_files
    from simulated.run import run

    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        os.chdir(folder)
        lake = Lake(Path())
        try:
            for seed in range(SEEDS):
                if (failure := run(seed, lake).failure) is not None:
                    return f"seed {seed}: {failure}".split("\n", 1)[0]
        finally:
            lake.close()
            os.chdir(_ROOT)
    return None


if __name__ == "__main__":
    sys.exit(run_hunts(__file__, FAULTS, hunt))

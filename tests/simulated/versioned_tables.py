"""Tables that change, as one statement sees them: the source of the questions of clients that write.

The statements have the shapes that move rows between members: scans, two-stage aggregates, joins, unions, total orders,
LIMIT, and conditions for which the planner prunes files. The answers are computed from the numbers that were written to
the files of the statement's snapshot, without the catalog, a log or an engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.contracts.mesh import Mesh
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.pg_catalog.fixed_catalog import FixedCatalog
from engine.plan_ir.topology import Topology
from engine.statements.shared.distribution import CompiledQuery, compile_query
from engine.statements.shared.terms import Terms
from simulated.lake import BINDINGS, plan_query
from simulated.statements import Asked

Numbers = Mapping[str, Sequence[int]]
_Row = tuple[object, ...]
#: Numbers of clients are below 2 ** 30.
_MIDDLE: Final = 1 << 29
_MISSING_FILE: Final = "58P01"


def _text(number: int) -> str:
    return str(number) * 40


def _totals(numbers: Sequence[int]) -> list[_Row]:
    return [(len(numbers), sum(numbers) if numbers else None, min(numbers, default=None))]


#: Statements, and the rows of their answers by the numbers in the tables.
_ANSWERS: Final[Mapping[Asked, Callable[[Numbers], Iterable[_Row]]]] = {
    Asked("select a from t"): lambda of: ((a,) for a in of["t"]),
    Asked("select a, b from u"): lambda of: ((a, _text(a)) for a in of["u"]),
    Asked("select a, b from t order by a", ordered=True): lambda of: ((a, _text(a)) for a in sorted(of["t"])),
    Asked("select a from u order by a desc limit 4", ordered=True): lambda of: (
        (a,) for a in sorted(of["u"], reverse=True)[:4]
    ),
    Asked("select count(*), sum(a), min(a) from t"): lambda of: _totals(of["t"]),
    Asked("select a % 4, count(*) from u group by a % 4"): lambda of: Counter(a % 4 for a in of["u"]).items(),
    Asked("select t.a, u.a from t join u on t.a % 5 = u.a % 5"): lambda of: (
        (a, b) for a in of["t"] for b in of["u"] if a % 5 == b % 5
    ),
    Asked("select a from t union all select a from u"): lambda of: ((a,) for a in (*of["t"], *of["u"])),
    Asked(f"select a from t where a < {_MIDDLE}"): lambda of: ((a,) for a in of["t"] if a < _MIDDLE),
    Asked(f"select count(*), sum(a), min(a) from u where a >= {_MIDDLE}"): lambda of: _totals(
        [a for a in of["u"] if a >= _MIDDLE]
    ),
}
ASKED: Final = tuple(_ANSWERS)
_BY_TEXT: Final = {asked.text: answer for asked, answer in _ANSWERS.items()}


class EngineGround:
    """The environment of members whose tables change: one DuckDB with one thread for all of them. Its owner closes it."""

    def __init__(self) -> None:
        self.folder = Path()
        self.answers = LocalDatabase(EngineConfig(Path("database"), local_threads=1, local_memory="512MB"))

    def close(self) -> None:
        self.answers.close()


class VersionedTables:
    """A `simulated.clients.Source`.

    tables: by name, with the files of the snapshot.
    numbers: the numbers in their rows, as they were written.
    is_old: whether so much time has passed since then that files may be gone.
    """

    def __init__(self, tables: Mapping[str, Table], numbers: Numbers, is_old: Callable[[], bool]) -> None:
        self._tables = tables
        self._numbers = numbers
        self._is_old = is_old

    def compile(self, text: str, terms: Terms, mesh: Mesh, topology: Topology | None) -> CompiledQuery:
        return compile_query(plan_query(text, FixedCatalog(self._tables)), terms, BINDINGS, mesh, topology)

    def answer(self, text: str) -> pa.Table:
        rows = list(_BY_TEXT[text](self._numbers))
        columns: list[Any] = [pa.array(values) for values in zip(*rows, strict=True)] or [pa.nulls(0)]
        return pa.Table.from_arrays(columns, names=[f"c{number}" for number in range(len(columns))])

    def excused(self) -> tuple[str, ...]:
        return (_MISSING_FILE,) if self._is_old() else ()

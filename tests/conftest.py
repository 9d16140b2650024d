"""Fixtures and options that all tests share, the distribution of tests over the processes of a run, and the report at
its end.
"""

from __future__ import annotations

import collections
import gc
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import support.unhurried_examples  # noqa: F401 - before the properties are decorated
from support import lent_jvm, spark_classes
from support.packages import postgres_programs, require
from support.postgres_server import Database, PostgresServer
from support.recoveries import MEASURED
from support.tables import sample

spark_classes.use()

#: The text that a file with long tests contains.
_LONG: Final = re.compile(r"\bmark\.long\b|\blong_seeds\b")
_SHARED: Final = ("module", "package", "session")
#: The thresholds of the garbage collector: objects allocated between two collections, and collections of a generation
#: before one of the next.
_COLLECTIONS: Final = (700, 10, 100)
#: Fixtures of these scopes that are cheap to create in each process.
_CHEAP: Final = frozenset({"postgres", "postgres_packages", "tmp_path_factory", "event_loop_policy"})


@pytest.fixture(scope="session")
def postgres_packages() -> None:
    """Skip the test where PostgreSQL 15's packages are not installed: for tests that start their own server."""
    require(postgres_programs())


@pytest.fixture(scope="session")
def postgres(postgres_packages: None) -> Iterator[PostgresServer]:
    """A running PostgreSQL 15, shared by all tests of the process."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_database(postgres: PostgresServer) -> Iterator[Database]:
    """A database in PostgreSQL for this test alone, with the name that a member's database has."""
    with postgres.database("sluice") as made:
        yield made


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m long`, skip files that do not contain the mark, which are five of six: each process of a run collects
    every file that it reads.
    """
    if config.option.markexpr != "long" or not collection_path.match("test_*.py"):
        return None
    return _LONG.search(collection_path.read_text(encoding="utf-8")) is None or None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Group tests that share an expensive fixture, so that one process runs them one after the other. (pytest-xdist
    reads the mark before any hook that modifies items.)
    """
    if (group := _shared_fixture(item)) is not None:
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests that take long first, so that no process is left alone with them at the end: those that need Spark,
    and those with their own timeout; the largest group first.
    """
    if (most := config.getoption("--cases")) is not None:
        _keep(config, items, [item for cases in _cases(items) for item in cases[:: -(-len(cases) // most)]])
    if (tables := config.getoption("--tables")) > 1:
        _keep(config, items, list(_sample_tables(items, tables, config.getoption("randomly_seed", None) or 0)))
    sizes = collections.Counter(group for item in items if (group := _group(item)) is not None)
    items.sort(key=lambda item: (_urgency(item), -sizes[_group(item) or ""]))


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def _sample_tables(items: list[pytest.Item], parts: int, seed: int) -> Iterator[pytest.Item]:
    """Return one of `parts` parts of the cases of each test that is marked as a table, and all other tests."""
    for cases in _cases(items):
        if cases[0].get_closest_marker("table") is None:
            yield from cases
        else:
            chosen = sample([case.nodeid for case in cases], parts, seed)
            yield from (case for case in cases if case.nodeid in chosen)


def _cases(items: list[pytest.Item]) -> Iterable[list[pytest.Item]]:
    """Return the cases of each test as one list."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return found.values()


def _group(item: pytest.Item) -> str | None:
    """Return the group of tests that one process runs together, or None if the test has no group."""
    mark = item.get_closest_marker("xdist_group")
    return None if mark is None else mark.args[0]


def _urgency(item: pytest.Item) -> int:
    if item.get_closest_marker("spark") is not None or item.get_closest_marker("timeout") is not None:
        return 0
    return 2 if _group(item) is None else 1


def _shared_fixture(item: pytest.Item) -> str | None:
    """Return the widest of the test's fixtures that other tests use too and that is expensive, named by its location."""
    # pytest provides scopes nowhere else.
    information = getattr(item, "_fixtureinfo", None)
    if information is None:
        return None
    shared = [
        definitions[-1]
        for name, definitions in information.name2fixturedefs.items()
        if definitions[-1].scope in _SHARED and name not in _CHEAP and definitions[-1].baseid
    ]
    if not shared:
        return None
    widest = max(shared, key=lambda found: (_SHARED.index(found.scope), found.baseid, found.argname))
    return item.nodeid.split("::")[0] if widest.scope == "module" else f"{widest.baseid}::{widest.argname}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("spark") is not None:
        lent_jvm.lender()


def pytest_collection_finish() -> None:
    """Freeze the imported and collected objects, half a million, so that no garbage collection scans them. The
    interpreter begins a full collection when a quarter more objects exist than the last one found. Frozen objects do
    not count there, so it would begin one every second, which takes a twelfth of the processor time. A member process
    starts its own full collections (`server.common.full_collections`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def pytest_sessionfinish(session: pytest.Session) -> None:
    lent_jvm.close()
    # DuckDB's binding reports objects that are frozen when the interpreter ends as leaked.
    gc.unfreeze()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["recoveries"] = MEASURED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Handle the end of a process that ran tests."""
    MEASURED.extend(getattr(node, "workeroutput", {}).get("recoveries", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if MEASURED:
        terminalreporter.section("recoveries")
        for line in MEASURED:
            terminalreporter.write_line(line)
    left_out = collections.Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in sorted(left_out.items()):
        terminalreporter.write_line(f"{count} tests were left out: {reason.removeprefix('Skipped: ')}")
    failed = [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]
    if failed:
        terminalreporter.section("to see it again")
    seed = config.getoption("randomly_seed", None)
    order = ["-p", "no:randomly"] if seed is None else ["-p", "randomly", f"--randomly-seed={seed}"]
    for node in sorted({_without_group(report.nodeid) for report in failed}):
        again = ["-m", "pytest", *order, node]
        terminalreporter.write_line(shlex.join([sys.executable, *again]))


def _without_group(nodeid: str) -> str:
    """Return a node id without the group that pytest-xdist appends."""
    return nodeid.rpartition("@")[0] if nodeid.rfind("@") > nodeid.rfind("]") else nodeid


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew; read the diff as code")
    parser.addoption("--cases", type=int, help="run at most so many cases of a parametrized test, evenly chosen")
    parser.addoption(
        "--tables",
        type=int,
        default=1,
        help="run one of so many cases of a test that is marked as a table, chosen by the seed",
    )
    parser.addoption(
        "--ask-postgres",
        action="store_true",
        help="ask a PostgreSQL 15 what is recorded of it, and fail where it differs",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `golden(name, text)`, which asserts that the text equals that of tests/golden/<name>, or writes it there
    with --rewrite.
    """

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--rewrite"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"no golden file {name}; run with --rewrite"
        assert text == path.read_text(), f"{name} differs; run with --rewrite and read the diff"

    return check


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Whatever is freed from here on is freed without the interpreter's collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()

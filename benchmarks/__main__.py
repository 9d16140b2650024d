"""`python -m benchmarks [NAME ...] [--scale 1] [--write]`: runs measures, shows their figures, and keeps them if
asked.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.console import Console

from benchmarks import (
    cancel,
    commit_crash,
    commits,
    connect,
    console_page,
    copy_orders,
    edge_lag,
    encode,
    engine_choice,
    exchange,
    growth,
    import_time,
    lineitem_cursor,
    machine,
    many_members,
    mesh_cancel,
    mesh_latency,
    mesh_memory,
    mesh_planning,
    mesh_tpch,
    orders_rows,
    point_reads,
    processes,
    report,
    row_insert,
    rows_one_by_one,
    short_query,
    statement_storm,
    table_writes,
    tpch_queries,
    watching,
    writers,
)
from benchmarks.figures import Measure
from benchmarks.ground import Ground, tpch_data

MEASURES: Final = tuple(
    module.MEASURE
    for module in (
        lineitem_cursor,
        orders_rows,
        tpch_queries,
        engine_choice,
        watching,
        short_query,
        point_reads,
        processes,
        connect,
        import_time,
        cancel,
        encode,
        exchange,
        mesh_latency,
        mesh_tpch,
        mesh_cancel,
        mesh_memory,
        mesh_planning,
        row_insert,
        rows_one_by_one,
        writers,
        commits,
        growth,
        commit_crash,
        table_writes,
        copy_orders,
        statement_storm,
        console_page,
        edge_lag,
        many_members,
    )
)


def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Benchmarks to run: " + ", ".join(measure.name for measure in MEASURES) + "; or all."),
    ] = None,
    scale: Annotated[float, typer.Option(help="TPC-H scale factor. The bars apply to scale 1.", min=0.01)] = 1.0,
    write: Annotated[bool, typer.Option("--write", help="Write the results into docs/benchmarks.md.")] = False,
    data: Annotated[Path, typer.Option(help="Directory of the TPC-H data, which is generated if missing.")] = Path(
        "data"
    ),
) -> None:
    """Run the benchmarks."""
    signal.signal(signal.SIGTERM, _end)
    console = Console()
    chosen = _chosen(names or [])
    tables = tpch_data(data.absolute(), scale, console)
    results = [_measured(measure, tables, scale, console) for measure in chosen]
    if write:
        report.write(results, MEASURES)
        console.print(f"written to {report.PAGE}")
    missed = [f"{r.measure.name}: {f.label}" for r in results for f in r.figures if f.met is False]
    if missed:
        console.print("missed: " + "; ".join(missed), style="red")


def _end(number: int, _frame: object) -> NoReturn:
    """Exit in an orderly way, so that every process that a measure has started is ended too."""
    sys.exit(128 + number)


def _chosen(names: list[str]) -> list[Measure]:
    known = {measure.name: measure for measure in MEASURES}
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"there is no {name!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(MEASURES)


def _measured(measure: Measure, tables: Path, scale: float, console: Console) -> report.Result:
    console.rule(measure.title)
    load = machine.busy()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as scratch:
        figures = list(measure.run(Ground(tables, Path(scratch), console)))
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    taken = f"{now}, scale {scale:g}: `.venv/bin/python -m benchmarks {measure.name} --scale {scale:g}`"
    result = report.Result(measure, figures, [f"{taken}; load before the run {load:.1f}", *machine.describe()])
    report.show(console, result)
    return result


if __name__ == "__main__":
    typer.run(main)

"""The `sluice` command.

This module imports typer only; each command imports the modules that it runs. `sluice --help` and a mistyped flag are
therefore answered at once, and no command waits for the modules of another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeVar

import typer

from server.config.errors import ConfigurationError

if TYPE_CHECKING:
    from server.config.config import Config

T = TypeVar("T")
#: `engine.catalog.model.objects.FileFormat`: typer reads it when this module is imported, and the engine is not to be imported
#: then.
FileFormat = Literal["parquet", "csv", "json"]
app = typer.Typer(
    name="sluice",
    help="A SQL server that any PostgreSQL client can talk to, with Apache Spark as its data pipeline.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ConfigFile = Annotated[Path | None, typer.Option("--config", help="Configuration file, TOML or YAML.")]
Listen = Annotated[str | None, typer.Option(help="Address at which PostgreSQL clients connect [127.0.0.1:5432].")]
Mesh = Annotated[
    str | None, typer.Option(help="Address at which members and Spark tasks connect; if given, others may join.")
]
Console = Annotated[str | None, typer.Option(help="Address of the web console [127.0.0.1:8432].")]
Http = Annotated[str | None, typer.Option(help="Address at which Trino's clients connect over HTTP [none].")]
Data = Annotated[Path | None, typer.Option(help="Data directory [sluice-data].")]
SparkMaster = Annotated[str | None, typer.Option(help="Spark master [local[*]].")]


def _version(wanted: bool) -> None:
    if wanted:
        from server.common.version import VERSION

        typer.echo(f"sluice {VERSION}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


@app.command()
def serve(
    config: ConfigFile = None,
    listen: Listen = None,
    mesh: Mesh = None,
    console: Console = None,
    http: Http = None,
    data: Data = None,
    spark_master: SparkMaster = None,
    processes: Annotated[
        str | None, typer.Option(help="Number of processes that accept clients, or auto: one per core [1].")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="Log level: debug, info, warning or error [info].")] = None,
    allow_empty_catalog: Annotated[
        bool,
        typer.Option("--allow-empty-catalog", help="Start even if the catalog is empty although stored tables exist."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the configuration, report its mistakes, and exit.")
    ] = False,
) -> None:
    """Run a member in the foreground until SIGTERM or Ctrl-C.

    A member needs no configuration. SLUICE_* environment variables override the file, and flags override both.
    """
    flags = {
        "listen": listen,
        "mesh": mesh,
        "console": console,
        "http": {"listen": http},
        "data": data,
        "spark": {"master": spark_master},
        "processes": processes,
        "log_level": log_level,
        "allow_empty_catalog": allow_empty_catalog or None,
    }
    if check:
        _check(config, flags)
        return
    settings = _load(config, **flags)
    if settings.processes == 1:
        from server.serving import run

        sys.exit(run(settings))
    from server.cli.serve_processes import serve_processes

    sys.exit(serve_processes(settings))


def _check(config: Path | None, flags: Mapping[str, Any]) -> None:
    from server.config.check import check

    found = check(config, flags)
    for warning in found.warnings:
        typer.echo(f"sluice: warning: {warning}", err=True)
    if found.mistakes:
        _fail("\n".join(found.mistakes))
    typer.echo(f"ok: {config or 'defaults, environment and flags'}")


@app.command()
def demo(
    scale: Annotated[float, typer.Option(help="TPC-H scale factor; 1 is 6 million rows of lineitem.", min=0.001)] = 0.1,
    listen: Annotated[str, typer.Option(help="Address at which PostgreSQL clients connect.")] = "127.0.0.1:5432",
    data: Annotated[Path, typer.Option(help="Directory of the generated data.")] = Path("sluice-demo"),
    once: Annotated[bool, typer.Option("--once", help="Exit after the tour instead of continuing to serve.")] = False,
) -> None:
    """Generate TPC-H data, start a member over it, take a short tour, and serve until Ctrl-C."""
    from server.cli.demo import run

    sys.exit(run(scale=scale, listen=listen, data=data, once=once))


@app.command("load")
def load_files(
    files: Annotated[
        list[Path],
        typer.Argument(help="CSV (also .gz), Parquet or JSON files, folders of them, or globs.", show_default=False),
    ],
    table: Annotated[
        str, typer.Option(help="The table, optionally with its schema: sales.orders.", show_default=False)
    ],
    create: Annotated[bool, typer.Option("--create", help="Create the table with the first file's columns.")] = False,
    file_format: Annotated[
        FileFormat | None, typer.Option("--format", help="Format of the files [from their names].")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="CSV: whether the first line contains column names [detected]."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="CSV: delimiter of fields [a comma; a tab in .tsv].")] = None,
    null: Annotated[str, typer.Option(help="CSV: representation of null [an empty field].")] = "",
    host: Annotated[str, typer.Option(help="Host of the member or PostgreSQL server.", envvar="PGHOST")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Its port.", envvar="PGPORT")] = 5432,
    user: Annotated[str | None, typer.Option(help="Role to connect as [the login name].", envvar="PGUSER")] = None,
    dbname: Annotated[str, typer.Option(help="The database.", envvar="PGDATABASE")] = "sluice",
) -> None:
    """Load files into a table of a running member: all of them, or nothing.

    Columns of Parquet, JSON and CSV with a header are matched by name, those of other CSV by position. The password is
    taken from PGPASSWORD or ~/.pgpass.
    """
    import getpass

    import psycopg
    from rich.console import Console

    from server.cli.load import LoadError, load
    from server.cli.load_files import Reading

    reading = Reading(file_format, header, delimiter, null)
    try:
        with psycopg.connect(host=host, port=port, user=user or getpass.getuser(), dbname=dbname) as connection:
            loaded = load(connection, table, files, reading, Console(stderr=True), create=create)
    except psycopg.OperationalError as error:
        _fail(str(error).strip(), status=1)
    except LoadError as error:
        _fail(str(error), status=1)
    typer.echo(f"{table}: {loaded}")


@app.command("sql")
def sql_shell(
    target: Annotated[
        str,
        typer.Argument(
            help="A connection string, postgresql://... or host=..., instead of the options.", show_default=False
        ),
    ] = "",
    command: Annotated[
        list[str] | None, typer.Option("--command", "-c", help="Run these statements and exit; may be repeated.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="Run the statements of this file and exit; may be repeated."),
    ] = None,
    expanded: Annotated[bool, typer.Option("--expanded", "-x", help="Show each column on a line of its own.")] = False,
    host: Annotated[
        str, typer.Option("--host", "-h", help="Host of the member or PostgreSQL server.", envvar="PGHOST")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", help="Its port.", envvar="PGPORT")] = 5432,
    user: Annotated[
        str | None, typer.Option("--user", "-U", help="Role to connect as [the login name].", envvar="PGUSER")
    ] = None,
    dbname: Annotated[str, typer.Option("--dbname", "-d", help="The database.", envvar="PGDATABASE")] = "sluice",
) -> None:
    """Query a running member in a shell with completion, history, progress and plans.

    Without a terminal, run the statements of -c, of -f, or of standard input, up to the first error. The password is
    taken from PGPASSWORD or ~/.pgpass.
    """
    from server.shell.main import run

    options = {"host": host, "port": port, "user": user, "dbname": dbname}
    sys.exit(run(target, options, commands=command or (), files=file or (), expanded=expanded))


@app.command()
def spark_env(
    target: Annotated[
        Path, typer.Argument(help="The archive to write, a .tar.gz that does not exist yet.", show_default=False)
    ],
    python: Annotated[
        str | None, typer.Option(help="Python interpreter on the executors' machines [python3.N as here].")
    ] = None,
) -> None:
    """Pack the Python libraries that tasks need, for executors of a Spark cluster that do not have them.

    Prints the configuration with which a member's executors use the archive. They need an interpreter of the same
    version, on machines of the same kind.
    """
    from server.cli.spark_environment import configuration, default_python, pack

    try:
        pack(target, python or default_python())
    except OSError as error:
        _fail(f"{target}: {error.strerror or error}", status=1)
    typer.echo(configuration(target))


@app.command()
def diagnose(
    target: Annotated[
        Path, typer.Argument(help="The bundle to write, a zip file that does not exist yet.", show_default=False)
    ],
    config: ConfigFile = None,
    data: Data = None,
    console: Annotated[
        str | None, typer.Option(help="URL of the member's console [from the configuration]; empty: skip it.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="The member's log file.")] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Host of the member [from the configuration].", envvar="PGHOST")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="Its port.", envvar="PGPORT")] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Role to connect as [the login name].", envvar="PGUSER")
    ] = None,
    dbname: Annotated[str, typer.Option("--dbname", help="The database.", envvar="PGDATABASE")] = "sluice",
) -> None:
    """Collect a bundle for the analysis of a problem: configuration, counters, statements, plans, the log; no secrets.

    Uses the configuration of a member, which need not run. The bundle contains statements of other users if the user
    has pg_read_all_stats. The password is taken from PGPASSWORD or ~/.pgpass.
    """
    import getpass

    from server.cli import diagnose as bundles
    from server.config.address import Address, reachable_from_here

    settings = _load(config, data=data)
    listen = Address.parse(settings.listen)
    where: dict[str, str | int] = {
        "host": host or reachable_from_here(listen.host), "port": port or listen.port,
        "user": user or getpass.getuser(), "dbname": dbname,
    }  # fmt: skip
    if console is None:
        told, scheme = Address.parse(settings.console), "https" if settings.console_tls else "http"
        console = f"{scheme}://{Address(reachable_from_here(told.host), told.port)}"
    try:
        missing = bundles.diagnose(settings, bundles.Target(console, where, log), target)
    except OSError as error:
        _fail(f"{target}: {error.strerror or error}", status=1)
    for name, why in missing.items():
        typer.echo(f"sluice: {name} is missing: {why}", err=True)
    typer.echo(f"written: {target}")


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="A folder that does not exist yet or is empty.", show_default=False)],
    config: ConfigFile = None,
    data: Data = None,
) -> None:
    """Copy the catalog and the stored tables' files while members run, as of one moment.

    Uses the configuration of a member to find the catalog and the tables. Copies neither the configuration nor the
    files of foreign tables.
    """
    from engine.catalog.store.backup import back_up

    engine = _load(config, data=data).engine()
    _tell("backed up", lambda: back_up(engine.catalog_location, engine.tables, target))


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="The folder that sluice backup has written.", show_default=False)],
    config: ConfigFile = None,
    data: Data = None,
) -> None:
    """Restore a backup to the catalog and the tables' folder of the configuration, which must not exist yet.

    Then start the members. The catalog may be another database than before: a SQLite file or PostgreSQL.
    """
    from engine.catalog.store import backup as backups

    engine = _load(config, data=data).engine()
    _tell("restored", lambda: backups.restore(source, engine.catalog_location, engine.tables))


def _tell(done: str, work: Callable[[], object]) -> None:
    from wire.errors import SqlError

    try:
        result = work()
    except SqlError as error:
        _fail("\n".join(part for part in (error.message, error.hint) if part), status=1)
    typer.echo(f"{done}: {result}")


cluster = typer.Typer(
    help="Run several members on this machine that share one catalog and one directory.", no_args_is_help=True
)
app.add_typer(cluster, name="cluster")
ClusterData = Annotated[Path, typer.Option(help="Directory of the cluster; relative paths of tables begin here.")]


@cluster.command()
def up(
    members: Annotated[int | None, typer.Option(help="Number of data members [3].", min=1, max=64)] = None,
    topology: Annotated[
        Path | None, typer.Option(help="Topology file; its nodes become the data members, its addresses are replaced.")
    ] = None,
    lite: Annotated[
        int, typer.Option(help="Number of lite members, which accept clients and hold no data.", min=0, max=64)
    ] = 0,
    listen: Annotated[str, typer.Option(help="Client address of the first member; the others use free ports.")] = (
        "127.0.0.1:5432"
    ),
    data: ClusterData = Path("sluice-cluster"),
    lite_routing: Annotated[
        str, typer.Option(help="What lite members do with queries over tables: refuse or forward.")
    ] = "refuse",
    spark_master: Annotated[
        str, typer.Option(help="Spark master that each member uses once a query needs Spark.")
    ] = "local[*]",
    spark_memory: Annotated[str, typer.Option(help="Heap size of each member's Spark driver.")] = "1g",
) -> None:
    """Start a cluster and return when its members know each other.

    They run until `sluice cluster down`. Each has a folder of its name with its log and its configuration.
    """
    from server.cluster.local_cluster import Wanted
    from server.config.address import Address

    try:
        address = Address.parse(listen)
    except ValueError as error:
        _fail(f"--listen: {error}")
    if lite_routing not in ("refuse", "forward"):
        _fail("--lite-routing: expected refuse or forward")
    if topology is not None and members is not None:
        _fail("--members: the topology file says which members there are")
    spark = {"master": spark_master, "driver_memory": spark_memory}
    wanted = Wanted(members or 3, lite, address, data, lite_routing, spark, topology)
    _run_cluster(lambda c: c.up(wanted, c.Console(highlight=False)))


@cluster.command()
def status(data: ClusterData = Path("sluice-cluster")) -> None:
    """Show each member: its addresses, its process, whether it is up. The exit status is 1 unless all are up."""
    if not _run_cluster(lambda c: c.status(data, c.Console(highlight=False))):
        raise typer.Exit(1)


@cluster.command()
def down(
    data: ClusterData = Path("sluice-cluster"),
    grace: Annotated[float, typer.Option(help="Seconds before members that still run are killed.", min=0)] = 30.0,
) -> None:
    """Shut down the cluster's members; those that still run after the grace period are killed. Does nothing if none runs."""
    _run_cluster(lambda c: c.down(data, grace, c.Console(highlight=False)))


def _run_cluster(command: Callable[[Any], T]) -> T:
    """Run a command of `server.cluster.local_cluster`."""
    from server.cluster import local_cluster as commands

    try:
        return command(commands)
    except commands.ClusterError as error:
        _fail(str(error), status=1)


def _load(config: Path | None, **flags: Any) -> Config:
    from server.config.config import load

    try:
        return load(config, flags)
    except ConfigurationError as error:
        _fail(str(error))


def _fail(message: str, status: int = 2) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"sluice: {line}", err=True)
    raise typer.Exit(status)


def main() -> None:
    app()


if __name__ == "__main__":
    main()

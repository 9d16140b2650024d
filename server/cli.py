"""The `sluice` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from server import __version__
from server.config import Config, ConfigurationError, load

app = typer.Typer(
    name="sluice",
    help="A SQL server that any PostgreSQL client can talk to, with Apache Spark as its data pipeline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ConfigFile = Annotated[Path | None, typer.Option("--config", help="Configuration file, TOML or YAML.")]
Listen = Annotated[str | None, typer.Option(help="Where PostgreSQL clients connect [127.0.0.1:5432].")]
Mesh = Annotated[str | None, typer.Option(help="Where members and Spark tasks connect [127.0.0.1:7432].")]
Console = Annotated[str | None, typer.Option(help="Where the web console is served [127.0.0.1:8432].")]
Data = Annotated[Path | None, typer.Option(help="Data directory [sluice-data].")]
SparkMaster = Annotated[str | None, typer.Option(help="The Spark to drive [local[*]].")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sluice {__version__}")
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
    data: Data = None,
    spark_master: SparkMaster = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error [info].")] = None,
    check: Annotated[bool, typer.Option("--check", help="Validate the configuration and exit.")] = False,
) -> None:
    """Run a member in the foreground until SIGTERM or Ctrl-C.

    Needs no configuration. A file is overridden by SLUICE_* environment variables, those by flags.
    """
    settings = _load(
        config,
        listen=listen,
        mesh=mesh,
        console=console,
        data=data,
        spark={"master": spark_master},
        log_level=log_level,
    )
    if check:
        typer.echo(f"ok: {config or 'defaults, environment and flags'}")
        return
    from server.member import run

    sys.exit(run(settings))


@app.command()
def demo(
    scale: Annotated[float, typer.Option(help="TPC-H scale factor; 1 is 6 million rows of lineitem.", min=0.001)] = 0.1,
    listen: Annotated[str, typer.Option(help="Where PostgreSQL clients connect.")] = "127.0.0.1:5432",
    data: Annotated[Path, typer.Option(help="Where the data is generated and kept.")] = Path("sluice-demo"),
    once: Annotated[bool, typer.Option("--once", help="End after the tour instead of serving on.")] = False,
) -> None:
    """Generate TPC-H data, start a member over it, take a short tour, and serve until Ctrl-C."""
    from server.demo import run

    sys.exit(run(scale=scale, listen=listen, data=data, once=once))


def _load(config: Path | None, **flags: Any) -> Config:
    try:
        return load(config, flags)
    except ConfigurationError as error:
        _fail(str(error))


def _fail(message: str) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"sluice: {line}", err=True)
    raise typer.Exit(2)


def main() -> None:
    app()


if __name__ == "__main__":
    main()

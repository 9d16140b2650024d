"""`python -m simulated`: run seeds, or replay one."""

from __future__ import annotations

import itertools
from typing import Annotated

import typer

from simulated import campaign


def main(
    seed: Annotated[int | None, typer.Option(help="Run this one, twice, and print what happens in it.")] = None,
    seeds: Annotated[int, typer.Option(help="How many to run.", min=1)] = 1000,
    first: Annotated[int, typer.Option(help="The first of them.", min=0)] = 0,
    forever: Annotated[bool, typer.Option("--forever", help="Go on until some fail.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; by default as many as processors.", min=1)] = None,
    writes: Annotated[
        bool, typer.Option("--writes", help="Members that write to the tables of one catalog, on a disk that fails.")
    ] = False,
    both: Annotated[
        bool, typer.Option("--both", help="Clusters whose members write, and read what others write.")
    ] = False,
) -> None:
    """Run whole clusters on a virtual network and clock, with faults, all derived from a seed."""
    replay, run = (
        (campaign.replay_both, campaign.campaign_of_both)
        if both
        else (campaign.replay_writes, campaign.campaign_of_writes)
        if writes
        else (campaign.replay, campaign.campaign)
    )
    if seed is not None:
        whole = replay(seed, typer.echo)
    else:
        numbers = itertools.count(first) if forever else range(first, first + seeds)
        whole = run(numbers, typer.echo, workers=workers)
    if not whole:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)

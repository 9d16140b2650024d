"""The 22 queries of TPC-H on three real members, over sockets: the answers equal those of one member alone.

Each table consists of several files of uneven size whose names are drawn at random, once a placement: names decide
which member reads which file. The tables of a placement are in a schema of its name, so that all share one cluster.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from psycopg import sql
from support.answers import Connection, ask, differences
from support.campaigns import part
from support.local_cluster import LocalCluster
from support.member_process import wait_until
from support.tpch import TABLES, generate

from benchmarks.tpch_queries import queries

_PLACEMENTS = ("one", "two", "three")
_FILES = 5


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three members over scale 0.1."""
    folder = tmp_path_factory.mktemp("cluster")
    whole = generate(folder / "whole", 0.1, "parquet")
    with LocalCluster(folder, 3) as cluster:
        with cluster.connect("m1") as connection:
            for seed, placement in enumerate(part(_PLACEMENTS)):
                connection.execute(sql.SQL("create schema {}").format(sql.Identifier(placement)))
                for table in TABLES:
                    _place(
                        pq.read_table(whole / f"{table}.parquet"), folder / placement / table, Random(f"{seed} {table}")
                    )
                    _register(connection, placement, table)
        yield cluster
        wait_until(lambda: not _held(cluster))


def _place(rows: pa.Table, folder: Path, random: Random) -> None:
    """The rows in files of random sizes and names, some of several row groups."""
    folder.mkdir(parents=True)
    cuts = sorted(random.sample(range(rows.num_rows + 1), _FILES - 1))
    for first, end in zip([0, *cuts], [*cuts, rows.num_rows], strict=True):
        name = f"{random.getrandbits(64):016x}.parquet"
        pq.write_table(rows.slice(first, end - first), folder / name, row_group_size=random.choice((1_000, 100_000)))


def _register(connection: Connection, placement: str, table: str) -> None:
    connection.execute(
        sql.SQL("create foreign table {} options (path {}, format 'parquet')").format(
            sql.Identifier(placement, table), sql.Literal(f"{placement}/{table}/*.parquet")
        )
    )


def _sessions(cluster: LocalCluster, engine: str, placement: str) -> Iterator[Connection]:
    """A session that asks one member, and one that asks all of them."""
    for distribution in ("off", "always"):
        wished = {"engine": engine, "distribution": distribution}
        options = [f"-c search_path={placement}", *(f"-c sluice.{name}={value}" for name, value in wished.items())]
        with cluster.connect("m1", options=" ".join(options)) as connection:
            yield connection


def _check(cluster: LocalCluster, engine: str, placement: str, name: str) -> None:
    statement = queries()[name]
    alone, together = (ask(connection, statement) for connection in _sessions(cluster, engine, placement))
    assert alone.sqlstate is None
    different = differences(alone, together, ordered=True)
    assert different is None, different


def _held(cluster: LocalCluster) -> dict[str, dict[str, int]]:
    """Return the counts of what members hold for queries, by member; empty when none of them holds anything."""
    held = {}
    for name, member in cluster.members.items():
        with urllib.request.urlopen(f"http://{member['console']}/status", timeout=30) as answer:
            counters = json.load(answer)["counters"]
        held[name] = {
            key: value for key, value in {**counters["mesh"], "streams": counters["local"]["streams"]}.items() if value
        }
    return {name: values for name, values in held.items() if values}


@pytest.mark.long
@pytest.mark.parametrize("placement", part(_PLACEMENTS))
@pytest.mark.parametrize("name", queries())
def test_answers_of_all_are_those_of_one(cluster: LocalCluster, placement: str, name: str) -> None:
    _check(cluster, "local", placement, name)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("name", part(sorted(queries())))
def test_answers_of_all_are_those_of_one_on_spark(cluster: LocalCluster, name: str) -> None:
    _check(cluster, "spark", _PLACEMENTS[0], name)

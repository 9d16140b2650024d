"""Strings, patterns, formats, arrays, documents, dates and times on DuckDB, on Spark and in PostgreSQL 15.

PostgreSQL's database has a UTF-8 character type, as a Sluice member has: letters beyond ASCII have cases and classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import rows_text
import rows_time
from function_rows import ZONE, Engine, Oracle, Question, ask_postgres, is_error, questions
from support.campaigns import PARTS
from support.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.long,
    pytest.mark.postgres,
    pytest.mark.asyncio(loop_scope="module"),
    # PySpark leaves the sockets of a collected result to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer) -> Iterator[Oracle]:
    with postgres.database("sluice_ctype", ctype="C.UTF-8") as database, database.connect() as connection:
        connection.execute(f"set timezone = '{ZONE}'")
        yield connection


async def check(engine: Engine, oracle: Oracle, tables: Sequence[str], *, every: int = 1, errors: int = 1) -> None:
    """Ask both every `every`th question; of those that PostgreSQL refuses every `errors`th, since each is a statement of its
    own."""
    asked: list[Question] = [question for table in tables for question in questions(table)][::every]
    theirs = [ask_postgres(oracle, question) for question in asked]
    refused = [i for i, answer in enumerate(theirs) if is_error(answer)][::errors]
    kept = [i for i, answer in enumerate(theirs) if not is_error(answer) or i in refused]
    asked, theirs = [asked[i] for i in kept], [theirs[i] for i in kept]
    ours = await engine.answers(asked, refused=[i for i, answer in enumerate(theirs) if is_error(answer)])
    differing = [
        f"{question}: PostgreSQL {their!r}, {engine.name} {our!r}"
        for question, their, our in zip(asked, theirs, ours, strict=True)
        if our != their
    ]
    assert not differing, "\n".join(differing)


async def test_text_local(oracle: Oracle, local: Engine) -> None:
    await check(local, oracle, [rows_text.BOTH, rows_text.LOCAL])


async def test_time_local(oracle: Oracle, local: Engine) -> None:
    await check(local, oracle, [rows_time.BOTH])


@pytest.mark.spark
async def test_text_spark(oracle: Oracle, spark: Engine) -> None:
    await check(spark, oracle, [rows_text.BOTH, rows_text.SPARK], every=4 * PARTS, errors=12)


@pytest.mark.spark
async def test_time_spark(oracle: Oracle, spark: Engine) -> None:
    await check(spark, oracle, [rows_time.BOTH], every=4 * PARTS, errors=12)

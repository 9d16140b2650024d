"""Arithmetic and mathematics on DuckDB, on Spark and in PostgreSQL 15, over columns, so that the binder folds nothing.

Floating-point functions come from libraries, so their last digits may differ. Trailing zeros of numerics whose number
depends on values are not compared (`trim_scale`); the digits are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import psycopg
import pytest
from function_rows import ZONE, Answer, Engine, Oracle, Question, ask_postgres, questions
from support.campaigns import PARTS
from support.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.long,
    pytest.mark.postgres,
    pytest.mark.asyncio(loop_scope="module"),
    # PySpark leaves the sockets of a collected result to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EXACT = """
smallint | 0 | -32768 | 32767 | 7 | -1
x + x
x - 7::smallint
x * 2::smallint
x * 2
x / 7::smallint
7::smallint / x
x / (-1)::smallint
x % 7::smallint
x % (-1)::smallint
-x
@ x
~x
x & 5::smallint
x | 5::smallint
x # 5::smallint
x << 1
x << 17
x >> 1
x >> 33
x = 7
x < 7::bigint

integer | 0 | -2147483648 | 2147483647 | 70000 | -12 | 18
x + 1
x - 1
x * x
x * 2::bigint
x / 7
7 / x
x / (-1)
x % 7
x % (-1)
mod(7, x)
-x
abs(x)
~x
x # 5
x << 4
x << 35
x >> 3
gcd(x, 12)
lcm(x, 4)
x + 1.5
trim_scale(x / 3.0)
trim_scale(7.25 / x)
greatest(x, 5, null)
least(x, 5)
width_bucket(x, -100, 100, 8)
x >= 18::smallint

bigint | 0 | -9223372036854775808 | 9223372036854775807 | 5000000000 | -3
x + 1
x - 1
x * 2
x / 3
x / (-1)
x % 3
x % (-1)
-x
abs(x)
x << 1
x << 64
x >> 1
x & 255
gcd(x, 6::bigint)
x + 0.25
x * 1.5
x <> 5000000000

numeric(15,2) | 0 | 1.25 | -1.25 | 0.01 | 2.50 | -99999.99 | 1234567890123.45
x + 1
x - 0.005
x * 1.10
x * x
-x
+x
abs(x)
@ x
sign(x)
ceil(x)
floor(x)
round(x)
trunc(x)
round(x, 1)
round(x, -2)
round(x, 4)
trunc(x, 1)
trunc(x, -3)
x % 0.7
mod(x, -3)
div(x, 0.7)
trim_scale(x / 3)
trim_scale(x / 0.07)
trim_scale(100.00 * x / 7)
10 / x
x * (1 - 0.05) * (1 + 0.07)
sqrt(abs(x))
sqrt(x)
sqrt(x)::text
scale(x)
min_scale(x)
trim_scale(x)
x > 1.25
x = 2.5
width_bucket(x, 0.5, 10.25, 7)

double precision | 0 | -0 | 1.5 | -2.5 | 0.5 | 1e300 | 1e-300 | -1e308 | Infinity | -Infinity | NaN
x + 1e308
x - 1
x * 10
x * 1e-200
x / 1e-10
1 / x
x / x
-x
abs(x)
sign(x)
ceil(x)
floor(x)
round(x)
trunc(x)
x = x
x < 1.5
x >= 'NaN'
greatest(x, 1)

real | 0 | 1.5 | -2.5 | 3e38 | 1e-38 | Infinity | NaN
x + x
x * 10::real
x * 1e-10::real
x / 1e-5::real
x / 0::real
x * 2::float8
-x
abs(x)
"""

FLOATS = """
double precision | 0 | -0 | 1 | -1 | 0.5 | -27 | 2.75 | 1000 | -1000 | 1e300 | Infinity | -Infinity | NaN
sqrt(x)
cbrt(x)
exp(x)
ln(x)
log(x)
power(x, 2)
power(x, 0.5)
power(x, -1)
power(2, x)
x ^ 3
sin(x)
cos(x)
tan(x)
asin(x)
acos(x)
atan(x)
atan2(x, 2)
sind(x)
cosd(x)
tand(x)
asind(x)
acosd(x)
atand(x)
atan2d(x, 2)
sinh(x)
tanh(x)
asinh(x)
acosh(x)
atanh(x)
degrees(x)
radians(x)
width_bucket(x, -5, 5, 10)
"""

LOCAL = """
numeric(12,4) | 0 | 1 | 1.05 | -2 | 0.0004 | 12345.6789
power(x, 2)
power(x, -1)
x ^ 3
power(x, 0.5)
power(x, 0.5)::text
power(2.0, x / 1000)
exp(x * 0.001)
ln(x)
ln(x)::text
log(x)
log(2.0, x)
"""


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer) -> Iterator[Oracle]:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(f"set timezone = '{ZONE}'")
        yield connection


def same(want: Answer, got: Answer) -> bool:
    if want == got or want is None or got is None:
        return want == got
    try:
        return math.isclose(float(want), float(got), rel_tol=1e-14, abs_tol=1e-300)
    except ValueError:
        return False


async def check(engine: Engine, oracle: Oracle, asked: Sequence[Question], *, close: bool = False) -> None:
    wanted = [ask_postgres(oracle, question) for question in asked]
    refused = [i for i, answer in enumerate(wanted) if answer is not None and answer.startswith("error ")]
    got = await engine.answers(asked, refused=refused)
    differ = [
        f"{question}: {mine!r}, PostgreSQL says {theirs!r}"
        for question, mine, theirs in zip(asked, got, wanted, strict=True)
        if not (same(theirs, mine) if close else theirs == mine)
    ]
    assert not differ, "\n".join(differ)


def fewer_errors(oracle: Oracle, asked: Sequence[Question]) -> list[Question]:
    """The questions without all but one error of each expression: an error takes Spark a statement of its own."""
    kept, failed = [], set()
    for question in asked:
        answer = ask_postgres(oracle, question)
        if answer is not None and answer.startswith("error "):
            if (question.type, question.expression, answer) in failed:
                continue
            failed.add((question.type, question.expression, answer))
        kept.append(question)
    return kept


async def test_local(oracle: Oracle, local: Engine) -> None:
    await check(local, oracle, [*questions(EXACT), *questions(LOCAL)])


async def test_local_floats(oracle: Oracle, local: Engine) -> None:
    await check(local, oracle, list(questions(FLOATS)), close=True)


@pytest.mark.spark
async def test_spark(oracle: Oracle, spark: Engine) -> None:
    await check(spark, oracle, fewer_errors(oracle, list(questions(EXACT))[::PARTS]))


@pytest.mark.spark
async def test_spark_floats(oracle: Oracle, spark: Engine) -> None:
    await check(spark, oracle, fewer_errors(oracle, list(questions(FLOATS))[::PARTS]), close=True)

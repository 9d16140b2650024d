"""Functions, operators, casts, aggregates and window functions in the places where an expression may stand: PostgreSQL's answers.

The statements are those of `support.expression_places`. A sample runs with `make test`;
`PLACES=100 SEED=3 pytest -m "long or not long" tests/differential/test_function_places.py` takes 100 of each family. With
`PLACES_ENGINE=spark` Spark answers.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence

import psycopg
import pytest
from support.expression_places import Comparison
from support.expression_subjects import (
    Subject,
    aggregate_subjects,
    cast_subjects,
    equality_subjects,
    function_subjects,
    nested_subjects,
    window_subjects,
)
from support.local_member import local_member
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

PLACES = int(os.environ.get("PLACES", "2"))
ENGINE = os.environ.get("PLACES_ENGINE", "local")
SEED = int(os.environ.get("SEED", "1"))
#: Aggregates and recursions that need a type's order or equality, where the engine has another one.
ORDERS = (
    "with recursive t(v) as (select '1.0'::jsonb union select '1.00'::jsonb from t) select count(*) from t",
    "with recursive t(v) as (select '[1.0,2)'::numrange union select '[1.00,2)'::numrange from t) select count(*) from t",
    "with recursive t(v) as (select 'a '::bpchar union select 'a'::bpchar from t) select count(*) from t",
    "select mode() within group (order by v)::text from (values ('[10,12)'::int4range), ('[3,9)')) t(v)",
    "select mode() within group (order by v)::text from (values ('12:00+00'::timetz), ('11:00-01'::timetz)) t(v)",
    "select mode() within group (order by v)::text from (values ('{\"a \"}'::bpchar[]), ('{a}'), ('{A}')) t(v)",
    "select percentile_disc(0.5) within group (order by v)::text from (values ('[10,12)'::int4range), ('[3,9)'), ('[4,5)')) t(v)",
    "select percentile_disc(array[0.5, 1]) within group (order by v)::text from (values ('10'::jsonb), ('9'), ('\"a\"')) t(v)",
    "select min(v)::text, max(v)::text from (values ('{12:00+00}'::timetz[]), ('{13:00+01}'), ('{11:00-01}')) t(v)",
    "select min(v)::text, max(v)::text from (values (array['[10,12)'::int4range]), (array['[3,9)'::int4range])) t(v)",
    "select array_agg(distinct v)::text from (values (array['[10,12)'::int4range]), (array['[3,9)'::int4range])) t(v)",
    "select percentile_disc(0.5) within group (order by v)::text from (values ('{[10,12)}'::int4multirange), ('{[3,9)}')) t(v)",
    "select mode() within group (order by (v, 1))::text from (values ('12:00+00'::timetz), ('11:00-01'::timetz)) t(v)",
    "select mode() within group (order by v)::text from (values ('b:1 c:2'::tsvector), ('zz')) t(v)",
)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[Comparison]:
    with (
        local_member(tmp_path_factory.mktemp("places")) as member,
        member.connect() as ours,
        psycopg.connect(postgres.dsn, autocommit=True) as theirs,
    ):
        ours.execute(f"set sluice.engine = '{ENGINE}'")
        yield Comparison(ours, theirs)


@pytest.mark.table
@pytest.mark.parametrize(
    "family", [function_subjects, cast_subjects, aggregate_subjects, window_subjects, equality_subjects]
)
def test_same_in_every_place(family: Callable[[], Sequence[Subject]], comparison: Comparison) -> None:
    subjects = list(family())
    random.Random(SEED).shuffle(subjects)
    wrong = [told for subject in subjects[:PLACES] for told in comparison.differences(subject)]
    print(f"so far {comparison.compared} statements compared, {len(comparison.refused)} of them refused")
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
def test_nested_in_every_place(comparison: Comparison) -> None:
    wrong = [told for subject in nested_subjects(SEED, PLACES * 2) for told in comparison.differences(subject)]
    print(f"so far {comparison.compared} statements compared, {len(comparison.refused)} of them refused")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("statement", ORDERS)
def test_same_order_or_refused(statement: str, comparison: Comparison) -> None:
    wrong = list(comparison.told(statement))
    assert not wrong, wrong[0]

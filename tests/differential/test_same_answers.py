"""The same statement on Spark, in process and on PostgreSQL 15: the same columns, the same rows, the same SQLSTATE.

The corpus is in `corpus/`, by topic, one statement after the other. `-- ordered` behind a statement says that it
determines the order of its rows; otherwise they are compared as a multiset. `-- refused: spark` names the engines that
lack a needed feature and must refuse the statement with 0A000; once such an engine supports it, the test fails and the
mark is removed. `-- no plan` is behind a statement that reads a table and fails before execution, so that
`test_distributed_answers` skips it. Values are compared as PostgreSQL prints them; floats may differ in the last
digits, since their sums depend on the order of addition. PostgreSQL's answers are recorded in `corpus/answers.jsonl`; a
new statement is sent to a PostgreSQL until `--rewrite` has recorded it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.answers import Connection, ask, differences
from support.recorded_answers import RecordedAnswers

pytestmark = pytest.mark.spark
CORPUS = Path(__file__).parent / "corpus"


def statements() -> Iterator[Any]:
    for file in sorted(CORPUS.glob("*.sql")):
        parts = re.findall(r"(.+?);[ \t]*(-- [^\n]*)?(?:\n|$)", file.read_text(), re.DOTALL)
        for number, (text, marks) in enumerate(parts, 1):
            yield pytest.param(text.strip(), marks, id=f"{file.stem}-{number}")


# Each statement is a job or two of Spark's: thousands of them are among the long tests.
@pytest.mark.table
@pytest.mark.parametrize("sluice", ["local", pytest.param("spark", marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize(("statement", "marks"), list(statements()))
def test_same_answer(sluice: Connection, oracle: RecordedAnswers, statement: str, marks: str) -> None:
    [engine] = sluice.execute("show sluice.engine").fetchone() or ("",)
    refused = re.search(r"refused: ([a-z ]+)", marks)
    if refused is not None and engine in refused[1].split():
        assert ask(sluice, statement).sqlstate == "0A000"
        return
    ordered = "ordered" in marks
    different = differences(oracle.ask(statement, ordered=ordered), ask(sluice, statement), ordered)
    assert different is None, f"{statement}\n{different}"

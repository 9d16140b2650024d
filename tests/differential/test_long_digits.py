"""Numbers of thousands of digits wherever a statement may have a number: every answer is PostgreSQL's, and every
refusal is an explicit error.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.local_member import local_member, say
from support.postgres_server import Database

pytestmark = pytest.mark.postgres

_STATEMENTS = (Path(__file__).parent / "long_digits.sql").read_text()
#: More than Python makes an integer of.
_DIGITS = "1" * 5000
_ZEROS = "0" * 5000


def test_digits(tmp_path: Path, postgres_database: Database) -> None:
    with local_member(tmp_path) as member, member.connect() as ours, postgres_database.connect() as theirs:
        for written in filter(None, map(str.strip, _STATEMENTS.split(";\n"))):
            statement = written.replace("<digits>", _DIGITS).replace("<zeros>", _ZEROS)
            said, expected = say(ours, statement), say(theirs, statement)
            if said.error is None:
                assert (said.tag, said.rows) == (expected.tag, expected.rows), written
            else:
                assert not str(said.error[0]).startswith("XX"), written

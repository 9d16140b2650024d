"""Which function carries out which statement that defines something, and its command tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.sql import statements as s
from engine.utility.comment import comment
from engine.utility.definer import Definer
from engine.utility.renaming import alter_schema
from engine.utility.sequence import alter_sequence, create_sequence
from engine.utility.table import create_table

_DOERS: Final[dict[type[s.Statement], tuple[Callable[[Any, Definer], None], str]]] = {
    s.Comment: (comment, "COMMENT"),
    s.CreateTable: (create_table, "CREATE TABLE"),
    s.CreateSequence: (create_sequence, "CREATE SEQUENCE"),
    s.AlterSchema: (alter_schema, "ALTER SCHEMA"),
    s.AlterSequence: (alter_sequence, "ALTER SEQUENCE"),
}
DEFINITIONS: Final = tuple(_DOERS)


def define(statement: s.Statement, definer: Definer) -> str:
    """Carry out one of `DEFINITIONS`; the tag. Blocks on the disk. Raises SqlError."""
    run, tag = _DOERS[type(statement)]
    run(statement, definer)
    return tag

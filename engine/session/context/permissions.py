"""Permission to make the server read or write files of its machine, which superusers and members of
pg_read_server_files and pg_write_server_files have, and to run CHECKPOINT.

In PostgreSQL, USAGE on a foreign server lets a role create foreign tables. Sluice has no foreign servers, so a role
that may read files may create foreign tables.

Source: PostgreSQL 15, copy.c (DoCopy), utility.c (CHECKPOINT).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.catalog.authority import Authority
from engine.catalog.model.roles import CHECKPOINT, READ_SERVER_FILES, WRITE_SERVER_FILES
from engine.sql.parser.nodes.copy import Copy, CopyFrom
from engine.sql.parser.nodes.statements import Checkpoint, CreateForeignTable, ImportForeignSchema, Statement
from wire.errors import InsufficientPrivilege

_HINT: Final = "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."


def require_permitted(statement: Statement, authority: Callable[[], Authority]) -> None:
    """Check that the current role may run COPY of a server file, CHECKPOINT, or a statement that creates foreign
    tables. authority: that of the current role. Raises InsufficientPrivilege.
    """
    match statement:
        case Copy(file=str()):
            reads = isinstance(statement, CopyFrom)
            if not authority().has_rights_of(READ_SERVER_FILES if reads else WRITE_SERVER_FILES):
                verb, role = ("from", "read") if reads else ("to", "write")
                raise InsufficientPrivilege(
                    f"must be superuser or have privileges of the pg_{role}_server_files role to COPY {verb} a file",
                    hint=_HINT,
                )
        case Checkpoint() if not authority().has_rights_of(CHECKPOINT):
            raise InsufficientPrivilege("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT")
        case CreateForeignTable() | ImportForeignSchema() if not authority().has_rights_of(READ_SERVER_FILES):
            raise InsufficientPrivilege(
                "permission denied to create foreign table",
                hint="It has the server read files: a superuser may create it, or a member of pg_read_server_files.",
            )

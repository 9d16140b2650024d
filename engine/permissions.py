"""What only superusers may do, as statements: to have the server read or write files of its own machine.

PostgreSQL lets members of pg_read_server_files and pg_write_server_files copy files too, and whoever may use a foreign server make
foreign tables; there are no such roles and no servers here, so that both are a superuser's.

Source: PostgreSQL 15, copy.c (DoCopy), utility.c (CHECKPOINT).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.catalog.roles import Role
from engine.sql.copy_statement import Copy, CopyFrom
from engine.sql.statements import Checkpoint, CreateForeignTable, Statement
from wire.errors import InsufficientPrivilege

_HINT: Final = "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."


def require_permitted(statement: Statement, current: Callable[[], Role]) -> None:
    """current: the role that the session is. Raises InsufficientPrivilege."""
    match statement:
        case Copy(file=str()) if not current().superuser:
            verb, role = ("from", "read") if isinstance(statement, CopyFrom) else ("to", "write")
            raise InsufficientPrivilege(
                f"must be superuser or have privileges of the pg_{role}_server_files role to COPY {verb} a file",
                hint=_HINT,
            )
        case Checkpoint() if not current().superuser:
            raise InsufficientPrivilege("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT")
        case CreateForeignTable() if not current().superuser:
            raise InsufficientPrivilege(
                "permission denied to create foreign table",
                hint="It has the server read files: a superuser may create it.",
            )

"""Restrictions on the DuckDBs that run clients' statements: that of a member, and those of Spark's tasks. This module
imports nothing, because each Spark worker pays for its imports.
"""

from __future__ import annotations

from typing import Final

#: Settings: no extension is downloaded or loaded, and no name in a statement refers to a Python variable of this process.
CONFINED: Final[dict[str, bool]] = {
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
#: Settings of a database in a Spark task, which has one core.
ONE_THREAD: Final[dict[str, str | bool | int | float | list[str]]] = {"threads": 1, **CONFINED}

"""Privileges as arguments of has_..._privilege name them: `SELECT, insert with grant option` (acl.c:
convert_any_priv_string).
"""

from __future__ import annotations

from typing import Final

from engine.catalog.model import acl
from engine.catalog.model.rights import Judge
from engine.catalog.model.roles import Role
from wire.dataclass import dataclass
from wire.errors import InvalidParameterValue

#: The privileges that each function accepts, by the kind of object in its name.
_POSSIBLE: Final = {
    "table": acl.ALL["r"],
    "any_column": acl.ALL["c"],
    "column": acl.ALL["c"],
    "sequence": acl.ALL["s"],
    "schema": acl.ALL["n"],
    "database": acl.ALL["d"],
    "function": acl.ALL["f"],
    "type": acl.ALL["T"],
    "language": acl.ALL["l"],
    "foreign_data_wrapper": acl.ALL["F"],
    "server": acl.ALL["S"],
    "tablespace": acl.ALL["t"],
}
KINDS: Final = tuple(_POSSIBLE)
#: pg_has_role's privileges: use of a role's privileges without SET ROLE, membership (with SET ROLE), and the right to
#: grant membership.
ROLE_USAGE, ROLE_MEMBER, ROLE_ADMIN = 1, 2, 4
_OF_ROLES: Final = {
    "usage": ROLE_USAGE,
    "member": ROLE_MEMBER,
    **{
        f"{word} with {option} option": ROLE_ADMIN for word in ("usage", "member") for option in ("grant", "admin")
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A set of privileges of which any one suffices. rights: privileges. options: privileges with grant option."""

    rights: int
    options: int


def parse_privileges(kind: str, text: str) -> Asked:
    """Parse the privileges of an object kind. Raises InvalidParameterValue."""
    rights = options = 0
    for part in text.split(","):
        word = " ".join(part.lower().split())
        plain = word.removesuffix(" with grant option")
        right = acl.BY_WORD.get(plain.upper(), 0) & _POSSIBLE[kind]
        if not right and not (kind == "table" and plain == "rule"):
            raise InvalidParameterValue(f'unrecognized privilege type: "{part.strip()}"')
        if plain == word:
            rights |= right
        else:
            options |= right
    return Asked(rights, options)


def asked_of_role(text: str) -> int:
    """Parse the privileges of pg_has_role. Raises InvalidParameterValue."""
    found = 0
    for part in text.split(","):
        right = _OF_ROLES.get(" ".join(part.lower().split()))
        if right is None:
            raise InvalidParameterValue(f'unrecognized privilege type: "{part.strip()}"')
        found |= right
    return found


def of_role(judge: Judge, role: Role, of: int) -> int:
    """Return the privileges that a role has on another one (pg_role_aclcheck)."""
    found = ROLE_USAGE if judge.has_rights_of(role.oid, of) else 0
    mine = judge.roles.all_of(role)
    found |= ROLE_MEMBER if of in mine or role.superuser else 0
    admins = (each for each in judge.roles if each.oid in mine)
    is_admin = any((m := each.membership(of)) is not None and m.admin for each in admins)
    return found | (ROLE_ADMIN if is_admin or role.superuser else 0)

"""Access control lists as the catalog shows them: `grantee=rights/grantor` (acl.c: aclitemout, putid)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from engine.catalog.model.acl import PUBLIC, Acl, Item, letters
from engine.catalog.model.roles import FIRST_ROLE, PREDEFINED, Roles


class AclText:
    """Writes access control lists. roles: the roles, for their names. user: the name of the first role while no role
    exists.
    """

    def __init__(self, roles: Roles, user: str) -> None:
        self._names: dict[int, str] = {role.oid: role.name for role in (*PREDEFINED.values(), *roles)}
        self._names.setdefault(FIRST_ROLE, user)

    def __call__(self, acl: Acl | None) -> list[str] | None:
        return None if acl is None else [self.item(item) for item in acl]

    def roles(self) -> Iterator[tuple[int, str]]:
        """Return each role's OID, and its name in items."""
        return ((oid, self._role(oid)) for oid in self._names)

    def item(self, item: Item) -> str:
        grantee = "" if item.grantee == PUBLIC else self._role(item.grantee)
        return f"{grantee}={letters(item)}/{self._role(item.grantor)}"

    def rename_owner(self, lists: pa.ChunkedArray) -> pa.ChunkedArray:
        """Replace the owner in lists of PostgreSQL's own objects, which here belong to the first role."""
        whole, first = lists.combine_chunks(), self._role(FIRST_ROLE)
        items = pc.replace_substring_regex(whole.values, "^postgres=", _literally(f"{first}="))
        items = pc.replace_substring_regex(items, "/postgres$", _literally(f"/{first}"))
        return pa.chunked_array([pa.ListArray.from_arrays(whole.offsets, items, lists.type, mask=whole.is_null())])

    def _role(self, oid: int) -> str:
        """Return a role's name as items show it; the number of a role that no longer exists."""
        name = self._names.get(oid, str(oid))
        plain = all(c == "_" or c.isalnum() for c in name)
        return name if plain else '"' + name.replace('"', '""') + '"'


def _literally(text: str) -> str:
    """Escape text for use as the replacement of a regular expression."""
    return text.replace("\\", "\\\\")

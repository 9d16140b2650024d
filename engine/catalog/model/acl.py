"""Access control lists: the grants on one object as values, and the arithmetic of GRANT and REVOKE on them.

An item says that a grantor granted rights to a grantee (0 is PUBLIC), some of them with the right to grant them to
others (grant options). Rights are bits, in the order in which PostgreSQL prints their letters. None in place of a list
means that the list was never changed: it is the default of the object's kind (`default_acl`), in which the owner has
all rights and PUBLIC those of the kind.

Grant options make chains: when a grantor loses a grant option, the grants that depend on it are lost too. REVOKE either
refuses this (RESTRICT) or follows the chains (CASCADE); a circular chain is refused when it is made. An owner has all
grant options, whatever the list says.

This module knows no names, sessions or statements. The membership of roles is passed as a function.

Source: PostgreSQL 15, acl.c (acldefault, aclupdate, check_circularity, recursive_revoke, aclmask, select_best_grantor,
aclnewowner).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal

from wire.dataclass import dataclass
from wire.errors import DependentObjectsStillExist, InvalidGrantOperation

PUBLIC: Final = 0

#: Letters in the order in which an item prints them, and the words of GRANT.
LETTERS: Final = "arwdDxtXUCTcsA"
WORDS: Final = (
    "INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "EXECUTE", "USAGE", "CREATE", "TEMPORARY",
    "CONNECT", "SET", "ALTER SYSTEM",
)  # fmt: skip
(
    INSERT, SELECT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER, EXECUTE, USAGE, CREATE, TEMPORARY, CONNECT, SET, ALTER_SYSTEM,
) = (1 << n for n in range(len(WORDS)))  # fmt: skip
BY_WORD: Final = {**dict(zip(WORDS, (1 << n for n in range(len(WORDS))), strict=True)), "TEMP": TEMPORARY}

#: Kinds of objects, by the letters of acldefault() where it has one; c: a column.
Kind = Literal["r", "s", "c", "d", "n", "f", "l", "T", "F", "S", "t", "L", "p"]
ALL: Final[dict[Kind, int]] = {
    "r": INSERT | SELECT | UPDATE | DELETE | TRUNCATE | REFERENCES | TRIGGER,
    "s": USAGE | SELECT | UPDATE,
    "c": INSERT | SELECT | UPDATE | REFERENCES,
    "d": CREATE | TEMPORARY | CONNECT,
    "n": USAGE | CREATE,
    "f": EXECUTE,
    "l": USAGE,
    "T": USAGE,
    "F": USAGE,
    "S": USAGE,
    "t": CREATE,
    "L": SELECT | UPDATE,
    "p": SET | ALTER_SYSTEM,
}
#: The rights of PUBLIC on an object without grants.
_EVERYBODY: Final[dict[Kind, int]] = {"d": TEMPORARY | CONNECT, "f": EXECUTE, "l": USAGE, "T": USAGE}

#: Returns whether a role has the rights of another one without SET ROLE.
HasRightsOf = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list. rights: the granted rights. options: those of them with grant option."""

    grantee: int
    grantor: int
    rights: int
    options: int = 0


Acl = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Modification:
    """One grantee's part of a GRANT (`adds`) or REVOKE. cascade: whether grants that depend on revoked options are
    revoked too.
    """

    item: Item
    adds: bool
    cascade: bool = False


def default_acl(kind: Kind, owner: int) -> Acl:
    """Return the default list of a kind of object. The owner's item shows no grant options: an owner has them in any
    case.
    """
    everybody = _EVERYBODY.get(kind, 0)
    own = () if kind == "c" else (Item(owner, owner, ALL[kind]),)
    return ((Item(PUBLIC, owner, everybody),) if everybody else ()) + own


def letters(item: Item) -> str:
    """Return the letters of an item's rights, such as `r*w`. A star marks a right with grant option."""
    return "".join(
        letter + ("*" if item.options >> n & 1 else "") for n, letter in enumerate(LETTERS) if item.rights >> n & 1
    )


def words(rights: int) -> list[str]:
    """Return rights as privilege_type names them, in the order of their letters."""
    return [word for n, word in enumerate(WORDS) if rights >> n & 1]


def mask(acl: Acl, role: int, rights: int, has: HasRightsOf) -> int:
    """Return those of `rights` that a role has, itself, through PUBLIC, or through the roles whose rights it has."""
    found = 0
    for item in acl:
        if item.grantee in (PUBLIC, role):
            found |= item.rights & rights
    for item in acl:
        if item.rights & rights & ~found and item.grantee != PUBLIC and has(role, item.grantee):
            found |= item.rights & rights
    return found


def options(acl: Acl, role: int, owner: int, rights: int, has: HasRightsOf) -> int:
    """Return those of `rights` that a role may grant. The owner, and roles with the owner's rights, may grant all."""
    if has(role, owner):
        return rights
    return _options_of(acl, rights, lambda grantee: grantee == role or (grantee != PUBLIC and has(role, grantee)))


def options_directly(acl: Acl, role: int, owner: int, rights: int) -> int:
    """Return those of `rights` that the role itself may grant, without the roles whose rights it has."""
    return rights if role == owner else _options_of(acl, rights, lambda grantee: grantee == role)


def _options_of(acl: Acl, rights: int, counts: Callable[[int], bool]) -> int:
    found = 0
    for item in acl:
        if counts(item.grantee):
            found |= item.options & rights
    return found


def best_grantor(acl: Acl, roles: Iterable[int], owner: int, rights: int) -> tuple[int, int]:
    """Choose the grantor of a grant of `rights`. Returns the grantor and the rights that it may grant.

    roles: the role that issues the GRANT, followed by the roles whose rights it has. The choice is the first that may
    grant all rights, else the one that may grant most; if none may grant anything, the role that issues the GRANT.
    """
    asking: int | None = None
    best, most = 0, 0
    for role in roles:
        asking = role if asking is None else asking
        may = options_directly(acl, role, owner, rights)
        if may == rights:
            return role, may
        if may.bit_count() > most.bit_count():
            best, most = role, may
    assert asking is not None, "who asks is one of them"
    return (best, most) if most else (asking, 0)


# -- changes ---------------------------------------------------------------------------------------------------------


def apply_modification(acl: Acl, change: Modification, owner: int, has: HasRightsOf) -> Acl:
    """Return the list after one modification. Raises InvalidGrantOperation for a circular grant,
    DependentObjectsStillExist if RESTRICT finds dependent grants.
    """
    item = change.item
    if change.adds and item.options:
        _require_no_circle(acl, item, owner, has)
    at = next((n for n, i in enumerate(acl) if (i.grantee, i.grantor) == (item.grantee, item.grantor)), None)
    before = acl[at] if at is not None else Item(item.grantee, item.grantor, 0)
    if change.adds:
        after = replace(before, rights=before.rights | item.rights, options=before.options | item.options)
    else:
        after = replace(before, rights=before.rights & ~item.rights, options=before.options & ~item.options)
    acl = _with(acl, at, after)
    lost = before.options & ~after.options
    return _without_dependents(acl, item.grantee, lost, owner, has, cascade=change.cascade) if lost else acl


def _with(acl: Acl, at: int | None, item: Item) -> Acl:
    kept = (item,) if item.rights or item.options else ()
    return (*acl, *kept) if at is None else (*acl[:at], *kept, *acl[at + 1 :])


def _without_dependents(acl: Acl, grantee: int, lost: int, owner: int, has: HasRightsOf, *, cascade: bool) -> Acl:
    """Revoke the grants that the grantee made by options that it has lost."""
    if grantee == owner:
        return acl
    lost &= ~options(acl, grantee, owner, lost, has)
    while lost:
        hanging = next((item for item in acl if item.grantor == grantee and item.rights & lost), None)
        if hanging is None:
            break
        if not cascade:
            raise DependentObjectsStillExist("dependent privileges exist", hint="Use CASCADE to revoke them too.")
        gone = Modification(Item(hanging.grantee, grantee, lost, lost), adds=False, cascade=True)
        acl = apply_modification(acl, gone, owner, has)
    return acl


def _require_no_circle(acl: Acl, item: Item, owner: int, has: HasRightsOf) -> None:
    """Check that no role receives a grant option from itself: the grantor must still have the option without the grants
    made by the grantee.
    """
    if item.grantor == owner:
        return
    rest = acl
    while (found := next((i for i in rest if i.grantee == item.grantee and i.options), None)) is not None:
        gone = Modification(Item(item.grantee, found.grantor, 0, found.options), adds=False, cascade=True)
        rest = apply_modification(rest, gone, owner, has)
    own = options(rest, item.grantor, owner, item.options, has)
    if item.options & ~own:
        raise InvalidGrantOperation("grant options cannot be granted back to your own grantor")


def apply_grant(
    acl: Acl,
    grantees: Sequence[int],
    rights: int,
    grantor: int,
    owner: int,
    has: HasRightsOf,
    *,
    adds: bool,
    option: bool,
    cascade: bool,
) -> Acl:
    """Return the list after GRANT or REVOKE of rights (merge_acl_with_grant). option: WITH GRANT OPTION, or GRANT
    OPTION FOR.
    """
    for grantee in grantees:
        if adds and option and grantee == PUBLIC:
            raise InvalidGrantOperation("grant options can only be granted to roles")
        item = Item(grantee, grantor, rights if adds or not option else 0, rights if not adds or option else 0)
        acl = apply_modification(acl, Modification(item, adds, cascade), owner, has)
    return acl


def merge(left: Acl, right: Acl, owner: int, has: HasRightsOf) -> Acl:
    """Return one list with the items of both."""
    for item in right:
        left = apply_modification(left, Modification(item, adds=True), owner, has)
    return left


def in_order(acl: Acl) -> Acl:
    """Sort a list by grantee and grantor (aclitemsort)."""
    return tuple(sorted(acl, key=lambda item: (item.grantee, item.grantor)))


def same(left: Acl, right: Acl) -> bool:
    """Return whether two lists have the same items, in any order."""
    return in_order(left) == in_order(right)


def with_owner(acl: Acl, old: int, new: int) -> Acl:
    """Return the list of an object that gets another owner. The new owner takes the old one's place; items that then
    have the same grantee and grantor are merged.
    """
    found: dict[tuple[int, int], Item] = {}
    for item in acl:
        grantee, grantor = (new if role == old else role for role in (item.grantee, item.grantor))
        known = found.get((grantee, grantor), Item(grantee, grantor, 0))
        united = replace(known, rights=known.rights | item.rights, options=known.options | item.options)
        found[grantee, grantor] = united
    return tuple(found.values())


def without_role(acl: Acl, role: int, owner: int, has: HasRightsOf) -> Acl:
    """Return the list without the grants to a role, by any grantor, and the grants that depend on them."""
    while (found := next((item for item in acl if item.grantee == role), None)) is not None:
        gone = Modification(Item(role, found.grantor, found.rights, found.options), adds=False, cascade=True)
        acl = apply_modification(acl, gone, owner, has)
    return acl


def named_roles(acl: Acl | None, owner: int) -> frozenset[int]:
    """Return the roles in a list, except the owner."""
    return frozenset(role for item in acl or () for role in (item.grantee, item.grantor) if role not in (PUBLIC, owner))

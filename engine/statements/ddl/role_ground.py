"""The environment of the statements about roles and privileges."""

from __future__ import annotations

from collections.abc import Callable

from engine.catalog.authority import Authority
from engine.catalog.model.rights import Judge
from engine.catalog.model.roles import Role, Roles
from engine.catalog.model.user_types import UserType
from engine.catalog.store.transaction import SessionCatalog
from engine.pg_catalog import PG_CATALOG
from engine.pg_catalog.row_types import has_row_type
from engine.settings.session_settings import SessionSettings
from engine.sql.parser.nodes.statements import QualifiedName, RoleName
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, Notice, UndefinedObject
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings


@dataclass(frozen=True, slots=True)
class RoleGround:
    """The part of a session that statements about roles use. current, session: its current role, and the role of the
    session user. settings, input: the session's. notify: sends a notice.
    """

    catalog: SessionCatalog
    current: Role
    session: Role
    settings: SessionSettings
    input: InputSettings
    notify: Callable[[Notice], None]
    search_path: tuple[str, ...]

    @property
    def roles(self) -> Roles:
        return self.catalog.current().roles

    @property
    def authority(self) -> Authority:
        """The authority of the current role in the current state of the catalog."""
        snapshot = self.catalog.current()
        return Authority(self.current, Judge(snapshot.rights, snapshot.roles))

    @property
    def may_create(self) -> bool:
        return self.current.superuser or self.current.createrole

    def find_role(self, name: RoleName) -> Role:
        """Find a role by name, or CURRENT_ROLE, SESSION_USER and the like. Raises UndefinedObject."""
        if name.special in ("current", "session"):
            asked = (self.current if name.special == "current" else self.session).name
        else:
            asked = name.special or name.name
        if (found := self.roles.find_role(asked)) is None:
            raise UndefinedObject(f'role "{asked}" does not exist')
        return found

    def meant(self, name: RoleName) -> Role:
        """Find the role that is to own an object or receive a privilege: while there is no role at all, the session
        user's name is accepted too. Raises UndefinedObject.
        """
        alone = not self.roles and name.name == self.session.name and not name.special
        return self.session if alone else self.find_role(name)


def is_row_type(name: QualifiedName, ground: RoleGround) -> bool:
    """Return whether a name is that of a relation's row type."""
    return has_row_type(ground.catalog.current().resolve(name.schema, name.name, ground.search_path))


def type_of_users(name: QualifiedName, ground: RoleGround) -> UserType:
    """Find the type or domain that a statement about owners or privileges names.

    Raises UndefinedObject, InsufficientPrivilege, and FeatureNotSupported for one of PostgreSQL's or a relation's row
    type.
    """
    snapshot = ground.catalog.current()
    if name.schema is not None:
        ground.authority.require_usage(snapshot, name.schema)
    found = snapshot.type_named(name.schema, name.name, ground.search_path)
    if found is None and name.schema in (None, PG_CATALOG) and name.name in t.BY_NAME:
        raise FeatureNotSupported(f"not supported: owners and privileges of type {name.name}")
    if found is None and is_row_type(name, ground):
        raise FeatureNotSupported(f"not supported: privileges on the row type {name}")
    if found is None:
        raise UndefinedObject(f'type "{name}" does not exist')
    return found

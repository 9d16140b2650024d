"""What every statement about roles and privileges is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.authority import Authority
from engine.catalog.rights import Judge
from engine.catalog.roles import Role, Roles
from engine.catalog.transaction import SessionCatalog
from engine.settings import SessionSettings
from engine.sql.statements import RoleName
from wire.errors import Notice, UndefinedObject
from wire.text_settings import InputSettings


@dataclass(frozen=True, slots=True)
class RoleGround:
    """A session's ground for changes of roles. current, session: who it is, and who it began as. settings, input: the
    session's. notify: takes notices."""

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
        """Of the state as it is now."""
        snapshot = self.catalog.current()
        return Authority(self.current, Judge(snapshot.rights, snapshot.roles))

    @property
    def may_create(self) -> bool:
        return self.current.superuser or self.current.createrole

    def named(self, name: RoleName) -> Role:
        """Raises UndefinedObject."""
        if name.special in ("current", "session"):
            asked = (self.current if name.special == "current" else self.session).name
        else:
            asked = name.special or name.name
        if (found := self.roles.named(asked)) is None:
            raise UndefinedObject(f'role "{asked}" does not exist')
        return found

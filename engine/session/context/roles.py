"""The roles of a session: the user that logged in, SET SESSION AUTHORIZATION, SET ROLE.

Both are settings, so that they are transactional as settings are; this module checks their values and finds the roles that they
name. A session that was admitted under a name that is no role is `anybody` for as long as no role has that name. A session whose
role was dropped meanwhile has a role without privileges, and is not `anybody`.

Source: PostgreSQL 15, variable.c (check_session_authorization, check_role); miscinit.c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.catalog.model.roles import READ_ALL_SETTINGS, Role, Roles, anybody
from engine.settings.accepted import EXAMINED
from engine.settings.session_settings import SessionSettings
from wire.errors import InsufficientPrivilege, InvalidParameterValue

ROLE: Final = "role"
SESSION: Final = "session_authorization"
_NONE: Final = "none"
_GONE: Final = 0


class SessionRoles:
    """See the module's docstring. roles: as the session sees them now. committed: the committed ones, which may be read
    at any time.
    """

    def __init__(
        self, user: str, settings: SessionSettings, roles: Callable[[], Roles], committed: Callable[[], Roles]
    ) -> None:
        self._login = user
        self._settings = settings
        self._roles = roles
        self._committed = committed
        self._let_in = roles().find_role(user) is None
        settings.fix(SESSION, user)
        settings.check(SESSION, self._check_session)
        settings.check(ROLE, self._check_role)
        settings.compute("is_superuser", lambda: "on" if self._current(committed()).superuser else "off")
        settings.privileged = lambda: self._current(committed()).superuser

        # The client may have begun with `-c role=...`.
        self._check_role(settings.get(ROLE))

    def reset(self) -> None:
        """Return to the user that logged in, as DISCARD ALL does."""
        self._settings.set(SESSION, None)
        self._settings.set(ROLE, None)

    @property
    def session(self) -> Role:
        """SESSION_USER."""
        return self._session(self._roles())

    @property
    def current(self) -> Role:
        """CURRENT_USER."""
        return self._current(self._roles())

    @property
    def session_name(self) -> str:
        return self._settings.get(SESSION)

    @property
    def current_name(self) -> str:
        role = self._settings.get(ROLE)
        return self.session_name if role == _NONE else role

    def is_superuser(self, user: str) -> bool:
        return self._find_role(user, self._roles()).superuser

    def may_see(self, user: str) -> bool:
        """Return whether this session may see the activity of a user's sessions."""
        roles = self._roles()
        return roles.may_see(self._current(roles), self._find_role(user, roles))

    def may_examine(self, setting: str) -> bool:
        """Return whether this session may see the value of a setting (guc.c, GUC_SUPERUSER_ONLY)."""
        if setting not in EXAMINED:
            return True
        roles = self._roles()
        current = self._current(roles)
        return current.superuser or READ_ALL_SETTINGS in roles.all_of(current, inherited=True)

    def require_examined(self, setting: str) -> None:
        """Raise InsufficientPrivilege if this session may not see the value of a setting."""
        if not self.may_examine(setting):
            raise InsufficientPrivilege(
                f'must be superuser or have privileges of pg_read_all_settings to examine "{setting}"'
            )

    def may_signal(self, user: str) -> bool:
        """Return whether this session may end the sessions of a user."""
        roles = self._roles()
        return roles.may_signal(self._current(roles), self._find_role(user, roles))

    def _session(self, roles: Roles) -> Role:
        return self._find_role(self.session_name, roles)

    def _current(self, roles: Roles) -> Role:
        return self._find_role(self.current_name, roles)

    def _find_role(self, name: str, roles: Roles) -> Role:
        found = roles.find_role(name)
        if found is None and name == self._login and self._let_in:
            return anybody(name)
        return found or Role(_GONE, name)

    def _check_session(self, name: str) -> None:
        roles = self._roles()
        if roles.find_role(name) is None and name != self._login:
            raise InvalidParameterValue(f'role "{name}" does not exist')
        if name != self._login and not self._find_role(self._login, roles).superuser:
            raise InsufficientPrivilege("permission denied to set session authorization")
        # SET SESSION AUTHORIZATION ends an earlier SET ROLE.
        self._settings.set(ROLE, _NONE)

    def _check_role(self, name: str) -> None:
        if name == _NONE:
            return
        roles = self._roles()
        if (wanted := roles.find_role(name)) is None:
            raise InvalidParameterValue(f'role "{name}" does not exist')
        if not roles.is_member(self._session(roles), wanted):
            raise InsufficientPrivilege(f'permission denied to set role "{name}"')

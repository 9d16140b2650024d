"""The settings of a session, as code that only reads them sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Settings(Protocol):
    """A session's settings (GUCs): see `engine.settings.session_settings`.

    version: grows with every change, so that values derived from settings can be cached until then.
    """

    version: int

    def get(self, name: str) -> str:
        """Return the current value as SHOW prints it. Raises UndefinedObject for an unknown name."""
        ...

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        """Set a value, as SET does; None is DEFAULT. Raises InvalidParameterValue, UndefinedObject or
        CantChangeRuntimeParam.
        """
        ...

    def time_ms(self, name: str) -> int: ...
    def size_bytes(self, name: str) -> int: ...
    def reset_all(self) -> None: ...
    def reported_settings(self) -> Mapping[str, str]:
        """Return the settings that ParameterStatus reports, with their present values."""
        ...

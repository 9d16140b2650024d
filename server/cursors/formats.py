"""Format codes of the protocol (55.1.3, "Formats and Format Codes")."""

from __future__ import annotations

TEXT, BINARY = 0, 1

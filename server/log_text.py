"""Texts of clients in the member's log."""

from __future__ import annotations


def tabbed(text: str) -> str:
    """Put a tab before each line but the first, as PostgreSQL's log does (elog.c, append_with_tabs): no line of a client's text can
    pass for a line of the log."""
    return text.replace("\r", " ").replace("\n", "\n\t")

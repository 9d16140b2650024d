"""A statement of a corpus."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """text: SQL as it is sent. line: its first line in the file, from 1. data: of a COPY ... FROM STDIN, as it is sent."""

    text: str
    line: int
    data: bytes | None = None

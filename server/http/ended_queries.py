"""The queries of the door whose end their clients were told: what is left of them is the last answer.

A client that has lost the last answer may request it again. So answers are kept, but no session, no result, and no more
than a bounded number of answers and of bytes; the oldest go first. A client that asks later learns that there is no
such query, as in Trino.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Final, Protocol, TypeVar

from fastapi import Response

from wire.dataclass import dataclass

#: The limits of the answers that are kept.
ANSWERS_MAX: Final = 1000
BYTES_MAX: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class EndedQuery:
    """slug: as of the query. token: the number of its last page. answer: that page."""

    slug: str
    token: int
    answer: Response

    @property
    def size(self) -> int:
        return len(self.answer.body)


class _Secret(Protocol):
    @property
    def slug(self) -> str: ...


Q = TypeVar("Q", bound=_Secret)


def only_with_slug(query: Q | None, slug: str) -> Q | None:
    """Return a query if this is its secret. The comparison takes as long whatever the difference."""
    return query if query is not None and secrets.compare_digest(query.slug.encode(), slug.encode()) else None


class EndedQueries:
    """See the module's docstring."""

    def __init__(self, answers_max: int = ANSWERS_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._answers_max = answers_max
        self._bytes_max = bytes_max
        self._kept: OrderedDict[str, EndedQuery] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, name: str, query: EndedQuery) -> None:
        """Keep a query's last answer, if it is no larger than all answers together may be."""
        self._kept[name] = query
        self._bytes += query.size
        while len(self._kept) > self._answers_max or self._bytes > self._bytes_max:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size

    def find(self, name: str, slug: str) -> EndedQuery | None:
        return only_with_slug(self._kept.get(name), slug)

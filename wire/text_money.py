"""money: whole cents, written as in the C locale, which PostgreSQL shows as `$1,234.56` (cash.c)."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from wire.errors import NumericValueOutOfRange
from wire.text_numbers import invalid

_LIMIT: Final = 1 << 63
_MONEY: Final = re.compile(
    r"\s*(?P<sign>[-(+]?)\s*\$?\s*(?P<again>[-(+]?)\s*(?P<whole>[\d,]*)(?P<part>\.\d*)?\s*[)-]?\s*\$?\s*"
)


def read_money(text: str) -> int:
    """Raises InvalidTextRepresentation, NumericValueOutOfRange."""
    found = _MONEY.fullmatch(text)
    digits = found and (found["whole"].replace(",", "") + (found["part"] or ""))
    if not found or not digits or digits == ".":
        raise invalid("money", text)
    negative = bool({found["sign"], found["again"]} & {"-", "("}) or text.rstrip().endswith(("-", ")"))
    cents = int((Decimal(digits) * 100).quantize(Decimal(1), ROUND_HALF_UP))
    value = -cents if negative else cents
    if not -_LIMIT <= value < _LIMIT:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type money')
    return value


def money_text(cents: int) -> str:
    whole, part = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${whole:,}.{part:02}"

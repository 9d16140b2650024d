"""money, carried as whole cents and written as in the C locale, where PostgreSQL shows `$1,234.56` (cash.c)."""

from __future__ import annotations

import re
from typing import Final

from wire.common.digits import parse_digits
from wire.errors import NumericValueOutOfRange
from wire.types.numbers_input import invalid

_LIMIT: Final = 1 << 63
_MONEY: Final = re.compile(
    r"\s*+(?P<sign>[-(+]?)\s*+\$?\s*+(?P<again>[-(+]?)\s*+(?P<whole>[0-9,]*+)(?P<part>\.[0-9]*+)?\s*+[)-]?\s*+\$?\s*+"
)


def read_money(text: str) -> int:
    """Read an amount of money as cents. Raises InvalidTextRepresentation, NumericValueOutOfRange."""
    found = _MONEY.fullmatch(text)
    digits = found and (found["whole"].replace(",", "") + (found["part"] or ""))
    if not found or not digits or digits == ".":
        raise invalid("money", text)
    negative = bool({found["sign"], found["again"]} & {"-", "("}) or text.rstrip().endswith(("-", ")"))
    mills = int(((found["part"] or "")[1:] + "000")[:3])
    cents = parse_digits(found["whole"].replace(",", "")) * 100 + (mills + 5) // 10
    value = -cents if negative else cents
    if not -_LIMIT <= value < _LIMIT:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type money')
    return value


def money_text(cents: int) -> str:
    dollars, part = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${dollars:,}.{part:02}"

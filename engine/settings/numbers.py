"""Reads numbers of settings as C does, with the units of guc.c (parse_int, parse_real, convert_to_base_unit)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

TIME_UNITS: Final = {"us": 0.001, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
SIZE_UNITS: Final = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
#: The units that a size without a unit may have: some are counted in blocks.
BARE_SIZES: Final = {**SIZE_UNITS, "8kB": 8 << 10}

_WHOLE: Final = r"[+-]?(?:0[xX][0-9a-fA-F]++|0[0-7]*+(?![0-9])|[1-9][0-9]*+)(?![.eE])"
_REAL: Final = (
    r"[+-]?(?:0[xX][0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?(?:[pP][+-]?[0-9]++)?"
    r"|(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)"
)
_UNIT: Final = r"\s*+(?P<unit>[A-Za-z]*+)\s*+"
_READ_WHOLE: Final = re.compile(rf"\s*+(?:(?P<whole>{_WHOLE})|(?P<real>{_REAL})){_UNIT}", re.ASCII)
_READ_REAL: Final = re.compile(
    rf"\s*+(?P<real>{_REAL}|[+-]?(?:inf|infinity)(?![a-z])){_UNIT}", re.ASCII | re.IGNORECASE
)
#: More digits than a double can have: a longer number is out of any range.
_DIGITS_MOST: Final = 400


class HintedError(ValueError):
    """An error whose text is the hint: for a unit that the setting does not have, and for a number that is no valid
    integer.
    """


def read_whole(text: str, units: Mapping[str, float] | None = None, bare: float = 1) -> int:
    """Read a whole number, which may be hexadecimal or octal, or one with a fraction or an exponent, which is rounded
    after its unit is applied.

    units: the units that may follow it, with their sizes; `bare` is the size of a number without a unit; None: no unit
    is allowed. Raises ValueError, and `HintedError` with what to do.
    """
    found = _READ_WHOLE.fullmatch(text)
    if found is None or len(text) > _DIGITS_MOST:
        raise _beyond() if found else ValueError
    digits = found["whole"]
    value = _integer(digits) if digits else _double(found["real"])
    value *= _factor(found["unit"], units, bare)
    if not math.isfinite(value):
        raise _beyond()
    return round(value)


def read_real(text: str) -> float:
    """Read a number as strtod does. Raises ValueError, also for NaN and for a number that no double can hold."""
    found = _READ_REAL.fullmatch(text)
    if found is None or found["unit"]:
        raise ValueError
    value = _double(found["real"])
    if math.isinf(value) and "inf" not in found["real"].lower():
        raise ValueError
    return value


def _beyond() -> HintedError:
    return HintedError("Value exceeds integer range.")


def _integer(digits: str) -> int:
    bare = digits.lstrip("+-")
    octal = bare.startswith("0") and bare.isdecimal()
    value = int(bare, 8) if octal else int(bare, 0)
    return -value if digits.startswith("-") else value


def _double(digits: str) -> float:
    if "x" not in digits.lower():
        return float(digits)
    try:
        return float.fromhex(digits)
    except OverflowError:
        return math.inf


def _factor(unit: str, units: Mapping[str, float] | None, bare: float) -> float:
    if units is None:
        if unit:
            raise ValueError
        return 1
    if unit and unit not in units:
        *names, last = (f'"{name}"' for name in units)
        raise HintedError(f"Valid units for this parameter are {', '.join(names)}, and {last}.")
    return units[unit] if unit else bare


def memory_bytes(text: str) -> int:
    """Return the bytes of a memory size in the configuration, such as `2GB` or `512m`: units of 1024, in either case."""
    number, unit = re.findall(r"[\d.]+|[a-z]", text.lower())[:2]
    return int(float(number) * 1024 ** "bkmgt".index(unit))

"""Templates for numbers, as to_char writes by them and to_number reads by them, one value at a time.

A template is read once into items (keywords, literal characters) and their combined description: the number of digits,
where zeros begin, the sign. Writing and reading then process the items from left to right, with a position in the
digits and in the text. Both follow PostgreSQL step by step, because its results for odd templates (digits beyond the
value, signs in the middle, too few characters) follow from these steps and from no simpler rule. lc_numeric and
lc_monetary are C.

Neighbours: `engine.executors.local.templates` calls this for the distinct values of a batch;
`engine.sql.functions.number_formats` compiles the common templates into SQL instead.

Source: PostgreSQL 15, section 9.8 and formatting.c; numeric.c (numeric_out_sci, apply_typmod).
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final

from engine.sql.text_templates.lengths import PARSED_TEMPLATES, require_short
from wire.common.digits import is_digits
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidTextRepresentation, NumericValueOutOfRange, SqlSyntaxError

_KEYWORDS: Final = (
    ",", ".", "0", "9", "B", "C", "D", "EEEE", "FM", "G", "L", "MI", "PL", "PR", "RN", "SG", "SP", "S", "TH", "V",
)  # fmt: skip
_KEYWORD: Final = re.compile("|".join(re.escape(word) for k in _KEYWORDS for word in dict.fromkeys((k, k.lower()))))
#: Keywords whose letter case matters.
_CASED: Final = ("rn", "th")
_DIGITS: Final = ("9", "0", ".", "D")
_EXACT: Final = Context(prec=200, rounding=ROUND_HALF_UP)
#: The maximum number of significant digits that are written of a float8 and of a float4.
_FLOAT_DIGITS: Final = {8: 15, 4: 6}
_ROMAN: Final = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"),
    (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ROMAN_WIDTH: Final = 15
#: The fractional digits of a number that is read by a template with V: those of a power of ten.
SHIFTED_SCALE: Final = 16
_INT4_LEAST: Final = -(2**31)


@dataclass(frozen=True, slots=True)
class NumberTemplate:
    """A parsed template.
    items: keywords, each with an empty text, and literal characters, each with an empty keyword.

    before, after: the number of digits before and after the point.
    zero_start: the number of digits before the first 0, plus one; 0 if there is no 0.
    zero_end: the number of digits up to the last 0.
    sign: the place of `S`, at the `front` or the `back`, or empty.
    sign_after: the number of digits before an `S` at the front.
    shift: the number of digits after V.
    """

    items: tuple[tuple[str, str], ...]
    before: int = 0
    after: int = 0
    zero_start: int = 0
    zero_end: int = 0
    sign: str = ""
    sign_after: int = 0
    shift: int = 0
    fill: bool = True
    zero: bool = False
    point: bool = False
    bracket: bool = False
    minus: bool = False
    plus: bool = False
    roman: bool = False
    shifts: bool = False
    scientific: bool = False
    blank: bool = False


@lru_cache(PARSED_TEMPLATES)
def number_template(text: str) -> NumberTemplate:
    """Parse a template. Raises SqlSyntaxError for keywords that cannot be combined, FeatureNotSupported for a template
    that is too long.
    """
    require_short(text)
    items: list[tuple[str, str]] = []
    found = NumberTemplate(())
    at = 0
    while at < len(text):
        if (match := _KEYWORD.match(text, at)) is not None:
            word = match[0] if match[0] in _CASED else match[0].upper()
            found = _add_keyword(found, word)
            items.append((word, ""))
            at = match.end()
            continue
        literal, at = literal_at(text, at)
        items.extend(("", character) for character in literal)
    return replace(found, items=tuple(items))


def literal_at(text: str, at: int) -> tuple[str, int]:
    """Return the literal text of a template from `at`, and its end: a quoted text, an escaped quotation mark, or one
    character.
    """
    if text[at] != '"':
        at += text.startswith('\\"', at)
        return text[at], at + 1
    out, at = "", at + 1
    while at < len(text) and text[at] != '"':
        at += text[at] == "\\" and at + 1 < len(text)
        out, at = out + text[at], at + 1
    return out, at + 1


def _add_keyword(so_far: NumberTemplate, word: str) -> NumberTemplate:
    """Add one more keyword to a template."""
    n = so_far
    if n.scientific and word != "EEEE":
        raise SqlSyntaxError('"EEEE" must be the last pattern used')
    match word:
        case "9" | "0":
            return _digit(n, word)
        case "." | "D":
            if n.point:
                raise SqlSyntaxError("multiple decimal points")
            if n.shifts:
                raise SqlSyntaxError('cannot use "V" and decimal point together')
            return replace(n, point=True)
        case "V":
            if n.point:
                raise SqlSyntaxError('cannot use "V" and decimal point together')
            return replace(n, shifts=True)
        case "EEEE":
            if n.scientific:
                raise SqlSyntaxError('cannot use "EEEE" twice')
            if n.blank or not n.fill or n.sign or n.bracket or n.minus or n.plus or n.roman or n.shifts:
                raise SqlSyntaxError(
                    '"EEEE" is incompatible with other formats',
                    detail='"EEEE" may only be used together with digit and decimal point patterns.',
                )
            return replace(n, scientific=True)
        case "FM":
            return replace(n, fill=False)
        case "B":
            return replace(n, blank=n.blank or not (n.before or n.after or n.zero))
        case "RN" | "rn":
            return replace(n, roman=True)
        case "S" | "MI" | "PL" | "SG" | "PR":
            return _sign(n, word)
    return n


def _digit(n: NumberTemplate, word: str) -> NumberTemplate:
    if n.bracket:
        raise SqlSyntaxError(f'"{word}" must be ahead of "PR"')
    if word == "9":
        if n.shifts:
            return replace(n, shift=n.shift + 1)
        return replace(n, after=n.after + 1) if n.point else replace(n, before=n.before + 1)
    if n.point:
        n = replace(n, after=n.after + 1)
    else:
        start = n.zero_start if n.zero else n.before + 1
        n = replace(n, zero=True, zero_start=start, before=n.before + 1)
    return replace(n, zero_end=n.before + n.after)


def _sign(n: NumberTemplate, word: str) -> NumberTemplate:
    if word == "S":
        if n.sign:
            raise SqlSyntaxError('cannot use "S" twice')
        if n.plus or n.minus or n.bracket:
            raise SqlSyntaxError('cannot use "S" and "PL"/"MI"/"SG"/"PR" together')
        return replace(n, sign="back") if n.point else replace(n, sign="front", sign_after=n.before)
    if word == "PR":
        if n.sign or n.plus or n.minus:
            raise SqlSyntaxError('cannot use "PR" and "S"/"PL"/"MI"/"SG" together')
        return replace(n, bracket=True)
    if n.sign:
        raise SqlSyntaxError(f'cannot use "S" and "{word}" together')
    return replace(n, minus=n.minus or word in ("MI", "SG"), plus=n.plus or word in ("PL", "SG"))


# --- to_char ----------------------------------------------------------------------------------------------------------


def numeric_text(value: str, template: str) -> str:
    """Return to_char of a numeric, which is given as it is printed."""
    n = number_template(template)
    number = Decimal(value)
    if n.roman:
        return _write(n, _roman(_int4(int(number.to_integral_value(ROUND_HALF_UP)))), "", 0)
    if n.scientific:
        return _scientific(number, n.after)
    if n.shifts:
        number = number.scaleb(n.shift, _EXACT)
    return _plain(n, format(_round(number, n.after), "f"))


def int4_text(value: int, template: str) -> str:
    n = number_template(template)
    if n.roman:
        return _write(n, _roman(value), "", 0)
    if n.scientific:
        return f"{value: .{n.after}e}"
    if n.shifts:
        factor = 10**n.shift if 10**n.shift < 2**31 else _INT4_LEAST
        value = (value * factor - _INT4_LEAST) % 2**32 + _INT4_LEAST
    return _whole(n, value)


def int8_text(value: int, template: str) -> str:
    n = number_template(template)
    if n.roman:
        return _write(n, _roman(_int4(value)), "", 0)
    if n.scientific:
        return _scientific(Decimal(value), n.after)
    if n.shifts:
        value *= 10**n.shift
        if 10**n.shift >= 2**63 or not -(2**63) <= value < 2**63:
            raise NumericValueOutOfRange("bigint out of range")
    return _whole(n, value)


def float_text(value: float, template: str, size: int) -> str:
    """Return to_char of a float8 or float4, whose size in bytes is given."""
    n = number_template(template)
    finite = math.isfinite(value)
    if n.roman:
        return _write(n, _roman(round(value) if finite else 0), "", 0)
    if n.scientific:
        if not finite:
            return " " + "#" * n.before + "." + "#" * (n.after + 4)
        return f"{value: .{n.after}e}"
    if n.shifts:
        factor = 10.0**n.shift
        value = value * factor if size == 8 else _float4(_float4(factor) * value)
    wide = len(_fixed_text(abs(value), 0))
    most = _FLOAT_DIGITS[size]
    after = 0 if wide >= most else min(n.after, most - wide)
    return _plain(replace(n, after=after), _fixed_text(value, after))


def _fixed_text(value: float, after: int) -> str:
    if math.isnan(value):
        return "NaN"
    return f"{value:.{after}f}".replace("inf", "Infinity")


def _float4(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _int4(value: int) -> int:
    if not _INT4_LEAST <= value < 2**31:
        raise NumericValueOutOfRange("integer out of range")
    return value


def _roman(value: int) -> str:
    if not 1 <= value <= 3999:
        return "#" * _ROMAN_WIDTH
    out = ""
    for worth, letters in _ROMAN:
        times, value = divmod(value, worth)
        out += letters * times
    return out


def _scientific(number: Decimal, after: int) -> str:
    """Return a numeric with one digit before the point, or two if rounding gives ten; a blank stands in place of a
    plus.
    """
    exponent = number.adjusted() if number else 0
    shown = f"{_round(number.scaleb(-exponent, _EXACT), after):f}e{exponent:+03d}"
    return shown if shown.startswith("-") else " " + shown


def _round(number: Decimal, scale: int) -> Decimal:
    """Round to that many fractional digits; a zero has no sign."""
    found = number.quantize(Decimal((0, (1,), -scale)), context=_EXACT)
    return found if found else abs(found)


def _whole(n: NumberTemplate, value: int) -> str:
    return _plain(n, f"{value}.{'0' * n.after}" if n.after else str(value))


def _plain(n: NumberTemplate, digits: str) -> str:
    """Return a number without an exponent, with its sign, for a template; it is already rounded to the template's
    decimals.
    """
    places = n.before + n.shift
    sign = "-" if digits.startswith("-") else "+"
    digits = digits.removeprefix("-")
    whole = len(digits.partition(".")[0])
    if whole > places:
        return _write(n, "#" * places + "." + "#" * n.after, sign, 0, places)
    return _write(n, digits, sign, places - whole, places)


class _Writer:
    """A writer of a number by a template: `out` grows, `at` is the next of the number's digits, `place` the next of
    the template's.
    """

    def __init__(self, n: NumberTemplate, digits: str, sign: str, blanks: int, places: int) -> None:
        self.n = n
        self.digits, self.sign, self.blanks = digits, sign, blanks
        self.out: list[str] = []
        self.at = self.place = 0
        self.inside = False
        self.zero_start = n.zero_start - 1 if n.zero_start else 0
        self.bracket = n.bracket and (n.fill or sign == "-")
        plus = n.plus
        if n.plus or n.minus:
            self.signed = not (plus and not n.minus)
        else:
            self.signed = sign == "+" and not n.fill and not n.sign
        self.back = n.sign == "back" or (n.sign == "front" and not (n.plus or n.minus) and places == n.sign_after)
        self.last = self._last_relevant()
        self.count = n.after + places - 1 + (not self.signed and blanks == 0)

    def _last_relevant(self) -> int | None:
        """Return, with FM, the last decimal that is written: later ones are written only where the template has 0."""
        point = self.digits.find(".")
        if self.n.fill or not self.n.point or point < 0:
            return None
        last = max([point, *(i for i in range(point + 1, len(self.digits)) if self.digits[i] != "0")])
        if self.n.zero_end > self.blanks:
            last = max(last, min(len(self.digits) - 1, self.n.zero_end - self.blanks))
        return last

    def _ends_at_point(self) -> bool:
        return self.last is not None and self.digits[self.last] == "."

    def _next(self) -> str:
        """Return the next digit, or C's end of the text."""
        return self.digits[self.at] if self.at < len(self.digits) else "\0"

    def _leading_zero(self) -> bool:
        """Return whether the next digit is the single 0 before a point, which the template need not show."""
        return not self.n.zero and self.at == 0 and self.digits[:1] == "0" and self.n.after != 0

    def digit(self, word: str) -> None:
        n = self.n
        if n.roman:
            return
        self.inside = False
        zeros = n.zero and self.zero_start <= self.place
        if (
            not self.signed
            and (self.place >= self.blanks or (n.zero and self.zero_start == self.place))
            and (not self._leading_zero() or self._ends_at_point())
        ):
            self._write_sign()
        if self.place < self.blanks:
            if zeros:
                self.out.append("0")
                self.inside = True
            elif n.fill:
                self.out.append(" ")
        else:
            self._write_digit(word)
        end = self.count + (self.blanks > 0) + n.point
        if self.last is not None and self.last == self.at:
            end = self.place
        if self.place + 1 == end:
            if self.signed and self.bracket:
                self.out.append(" " if self.sign == "+" else ">")
            elif self.back:
                self.out.append(self.sign)
        self.place += 1

    def _write_sign(self) -> None:
        if self.n.sign:
            if not self.back:
                self.out.append(self.sign)
                self.signed = True
            return
        if self.bracket:
            self.out.append(" " if self.sign == "+" else "<")
        elif self.sign == "-":
            self.out.append("-")
        elif self.n.fill:
            self.out.append(" ")
        self.signed = True

    def _write_digit(self, word: str) -> None:
        found = self._next()
        if found == ".":
            if not self._ends_at_point() or not self.n.fill:
                self.out.append(".")
        elif self.last is not None and self.at > self.last and word != "0":
            pass
        elif self._leading_zero():
            if self.n.fill:
                self.out.append(" ")
            elif self._ends_at_point():
                self.out.append("0")
        else:
            self.out.append(found)
            self.inside = True
        self.at += found != "\0"

    def other(self, word: str) -> None:
        """Write a keyword that is no digit; if there is nothing to write, a blank takes its place."""
        n = self.n
        match word:
            case "," | "G":
                self._or_blank("," if self.inside else "")
            case "L":
                self.out.append(" ")
            case "RN" | "rn":
                numeral = self.digits if word == "RN" else self.digits.lower()
                self.out.append(numeral.rjust(_ROMAN_WIDTH) if n.fill else numeral)
            case "TH" | "th":
                if not (n.roman or self.digits.startswith("#") or self.sign == "-" or n.point):
                    ending = ordinal_ending(self.digits)
                    self.out.append(ending.upper() if word == "TH" else ending)
            case "MI":
                self._or_blank("-" if self.sign == "-" else "")
            case "PL":
                self._or_blank("+" if self.sign == "+" else "")
            case "SG":
                self.out.append(self.sign or "\0")

    def _or_blank(self, written: str) -> None:
        if written or self.n.fill:
            self.out.append(written or " ")


def _write(n: NumberTemplate, digits: str, sign: str, blanks: int, places: int = 0) -> str:
    """Fill the template with digits. blanks: the number of its integer places that they leave empty; places: the
    number of its integer places.
    """
    if n.roman:
        n = NumberTemplate(n.items, fill=n.fill, roman=True)
    writer = _Writer(n, digits, sign, blanks, places)
    for word, literal in n.items:
        if literal:
            writer.out.append(literal)
        elif word in _DIGITS:
            writer.digit(word)
        else:
            writer.other(word)
    return "".join(writer.out).partition("\0")[0]


def ordinal_ending(digits: str) -> str:
    """Return the ending of a number's English ordinal. Raises InvalidTextRepresentation for a text that does not end
    in a digit.
    """
    if not digits[-1:].isdecimal():
        raise InvalidTextRepresentation(f'"{digits}" is not a number')
    if digits[-2:-1] == "1":
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th")


# --- to_number --------------------------------------------------------------------------------------------------------


class _Reader:
    """A reader of a number by a template: `at` is the next byte of the text, `sign` and `digits` are the values found
    so far.
    """

    def __init__(self, n: NumberTemplate, text: bytes) -> None:
        self.n = n
        self.text = text
        self.at = 0
        self.sign = " "
        self.digits = ""
        self.point = False
        self.decimals = 0

    def is_ended(self) -> bool:
        return self.at >= len(self.text)

    def _here(self) -> str:
        return chr(self.text[self.at]) if not self.is_ended() else ""

    def _has_digits(self) -> bool:
        return any(c != "." for c in self.digits)

    def digit(self, word: str) -> None:
        """Read 9, 0 or a point: a digit or the point, with a sign before or after it."""
        self.at += self._here() == " "
        if self.is_ended():
            return
        if self.sign == " " and word in ("9", "0") and not self._has_digits():
            self._sign_before()
        if self.is_ended():
            return
        found = self._here()
        read = False
        if is_digits(found):
            if self.point and self.decimals == self.n.after:
                return
            self.digits += found
            self.decimals += self.point
            read = True
        elif found == "." and self.n.point and not self.point:
            self.digits += found
            self.point = read = True
        if self.sign == " " and self._has_digits():
            self._sign_behind(read)

    def _sign_before(self) -> None:
        found = self._here()
        anchored = self.n.sign == "front"
        if found == "-" or (found == "<" and self.n.bracket and not anchored):
            self.sign = "-"
        elif found == "+":
            self.sign = "+"
        else:
            return
        self.at += 1

    def _sign_behind(self, read: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2].decode("latin-1")
        if self.n.sign and read and following and not is_digits(following):
            if following in "+-":
                self.at, self.sign = self.at + 1, following
        elif not read and not self.n.sign and (self.n.plus or self.n.minus) and self._here() in ("+", "-"):
            self.sign = self._here()

    def other(self, word: str) -> None:
        """Process a keyword that is no digit: skip the text that it would write, if it is there."""
        found = self._here()
        match word:
            case "," | "G":
                self.at += self.n.fill and found == ","
            case "L":
                self._pass(1)
            case "TH" | "th":
                if not self.n.point:
                    self._pass(2)
            case "MI" | "PL" | "SG":
                if found in {"MI": "-", "PL": "+", "SG": "+-"}[word]:
                    self.sign = found
                    self.at += 1
                else:
                    self._pass(1)

    def _pass(self, characters: int) -> None:
        """Skip that many characters, but stop at one that may belong to a number."""
        for _ in range(characters):
            if self.is_ended() or self._here() in "0123456789.,+-":
                return
            self.skip()

    def skip(self) -> None:
        """Skip one character of UTF-8."""
        first = self.text[self.at]
        self.at += 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def read_number(text: str, template: str) -> str | None:
    """Return the result of to_number as it is printed; None for an empty template.

    Raises SqlSyntaxError for the template, InvalidTextRepresentation if no number was found, NumericValueOutOfRange for
    one with more digits than the template has.
    """
    if not template:
        return None
    n = number_template(template)
    for refused, keyword in ((n.scientific, "EEEE"), (n.roman, "RN")):
        if refused:
            raise FeatureNotSupported(f'"{keyword}" not supported for input')
    reader = _Reader(n, text.encode())
    for word, _literal in n.items:
        if reader.is_ended():
            break
        if word in _DIGITS:
            reader.digit(word)
            reader.at += 1
        elif word:
            reader.other(word)
        else:
            reader.skip()
    digits = reader.digits.removesuffix(".")
    if not digits:
        raise InvalidTextRepresentation(f'invalid input syntax for type numeric: "{reader.sign}"')
    number = Decimal(reader.sign.strip() + digits)
    whole = n.before + n.shift
    if number and number.adjusted() >= whole:
        limit = f"10^{whole}" if whole else "1"
        raise NumericValueOutOfRange(
            "numeric field overflow",
            detail=f"A field with precision {whole + reader.decimals}, scale {reader.decimals} must round to an absolute value "
            f"less than {limit}.",
        )
    if n.shifts:
        return format(_round(number.scaleb(-n.shift, _EXACT), SHIFTED_SCALE), "f")
    return format(number if number else abs(number), "f")

"""The lengths of templates: how long a template of to_char, to_number, to_date and to_timestamp may be.

A template is parsed in Python, one item per character in the worst case, and its items are processed for each value. So
a template of a million characters would take minutes and gigabytes, where PostgreSQL takes a second.
"""

from __future__ import annotations

from typing import Final

from wire.errors import FeatureNotSupported

#: The maximum number of characters of a template.
CHARACTERS_MAX: Final = 4096
#: The maximum number of characters of a constant template that is compiled to an expression for each of its items.
COMPILED_CHARACTERS_MAX: Final = 256
#: The number of parsed templates that are kept: 50 MB at most.
PARSED_TEMPLATES: Final = 128


def require_short(template: str) -> None:
    """Raise FeatureNotSupported for a template that is too long."""
    if len(template) > CHARACTERS_MAX:
        raise FeatureNotSupported(f"not supported: a template of more than {CHARACTERS_MAX} characters")

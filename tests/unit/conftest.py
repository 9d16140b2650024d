"""Properties fail for what they find, not for the time that it takes."""

from __future__ import annotations

import support.unhurried_examples  # noqa: F401

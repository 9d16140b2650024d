"""Settings while runs are in progress: no garbage collector that ends objects at arbitrary moments, and no log output
of members.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Apply the settings while the context is open; see the module's docstring."""
    collecting = gc.isenabled()
    gc.disable()
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        if collecting:
            gc.enable()

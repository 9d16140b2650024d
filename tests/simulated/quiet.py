"""While runs are under way: no garbage collector that ends things at moments of its own, and what members log is not said."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """See the module's docstring."""
    collecting = gc.isenabled()
    gc.disable()
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        if collecting:
            gc.enable()

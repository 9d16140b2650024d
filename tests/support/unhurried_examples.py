"""Settings of Hypothesis without its time limits: that an example takes longer than 200 ms, or the generation of some
longer than a second, only shows how busy the machine is. The tests' conftest imports this module before the properties
are decorated.

A property that does not set its number of examples runs fifty, different ones in each run; `EXAMPLES=1000` is a search
by hand.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from engine.common.depth import bounded_depth

settings.register_profile(
    "unhurried",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=int(os.environ.get("EXAMPLES", "50")),
)
settings.load_profile("unhurried")

# The first statement that a process reads raises Python's recursion limit for good; hypothesis warns where that is in an example.
with bounded_depth():
    pass

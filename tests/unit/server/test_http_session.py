"""How long a session over HTTP waits for its client's next request, and how it ends then."""

from __future__ import annotations

import pytest

from server.http.session import limit_of_wait


@pytest.mark.parametrize(
    ("abandoned_after", "idle_in_transaction", "seconds", "sqlstate"),
    [
        (300.0, 0.0, 300.0, "57P05"),
        (300.0, 400.0, 300.0, "57P05"),
        (300.0, 300.0, 300.0, "25P03"),
        (300.0, 0.5, 0.5, "25P03"),
    ],
)
def test_the_error_is_that_of_the_shorter_limit(
    abandoned_after: float, idle_in_transaction: float, seconds: float, sqlstate: str
) -> None:
    waited, cause = limit_of_wait(abandoned_after, idle_in_transaction)
    assert (waited, cause.sqlstate) == (seconds, sqlstate)

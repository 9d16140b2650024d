"""Password verifiers that a role may have: those that are neither too weak nor too costly for the server."""

from __future__ import annotations

import pytest

from wire import verifiers
from wire.errors import InvalidParameterValue
from wire.verifiers import ITERATIONS_MAX, ScramVerifier


def _verifier(iterations: int, salt: bytes = bytes(16)) -> str:
    return str(ScramVerifier(salt, iterations, bytes(32), bytes(32)))


def test_a_verifier_is_kept_as_it_is() -> None:
    for iterations in (4096, ITERATIONS_MAX):
        assert verifiers.make_verifier(_verifier(iterations), "ann", "scram-sha-256") == _verifier(iterations)


@pytest.mark.parametrize(
    "verifier", [_verifier(ITERATIONS_MAX + 1), _verifier(10_000_000), _verifier(4096, bytes(1025))]
)
def test_a_verifier_that_costs_the_server_too_much_is_refused(verifier: str) -> None:
    with pytest.raises(InvalidParameterValue, match="too costly"):
        verifiers.make_verifier(verifier, "ann", "scram-sha-256")


def test_nothing_is_computed_for_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored verifier that is too costly may come from an earlier release, or from the catalog's database."""

    def compute(*_arguments: object) -> None:
        raise AssertionError("a password was hashed")

    monkeypatch.setattr(ScramVerifier, "of", compute)
    assert not verifiers.proves(_verifier(999_999_999), "ann", "x")

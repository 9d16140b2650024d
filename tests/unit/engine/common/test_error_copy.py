"""Copies of errors: they have the same content, and a change of one does not affect another."""

from __future__ import annotations

import errno

import pytest

from engine.catalog.conflicts import ChangedByAnother
from engine.common.error_copy import copy_error
from wire.errors import About, CachedPlanChanged, DiskFull, SqlError


def _raised(error: BaseException) -> BaseException:
    """The error as who catches it has it: with a traceback, a cause and a note."""
    try:
        try:
            raise KeyError("why")
        except KeyError as cause:
            error.add_note("a note")
            raise error from cause
    except BaseException as caught:  # noqa: BLE001 - it is what was raised
        return caught


@pytest.mark.parametrize(
    "error",
    [
        DiskFull("no room", detail="A detail.", hint="A hint.", position=3, about=About(table="t")),
        SqlError("from elsewhere", sqlstate="0A000"),
        ChangedByAnother("t"),
        CachedPlanChanged(),
        OSError(errno.ENOSPC, "no room", "a file"),
        ZeroDivisionError("division by zero"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_copy_says_the_same(error: BaseException) -> None:
    error = _raised(error)
    copied = copy_error(error)
    assert copied is not error
    assert (type(copied), str(copied), copied.args, vars(copied)) == (type(error), str(error), error.args, vars(error))
    assert copied.__cause__ is error.__cause__
    assert copied.__suppress_context__
    assert copied.__traceback__ is error.__traceback__
    if isinstance(error, OSError):
        assert isinstance(copied, OSError)
        assert (copied.errno, copied.filename) == (error.errno, error.filename)


def test_what_happens_to_a_copy_does_not_happen_to_the_error() -> None:
    error = _raised(ChangedByAnother("t"))
    assert isinstance(error, ChangedByAnother)
    copied, before = copy_error(error), error.__traceback__
    copied.add_note("another")
    copied.position = 7
    with pytest.raises(ChangedByAnother):
        raise copied
    assert error.__notes__ == ["a note"]
    assert error.position is None
    assert error.__traceback__ is before

"""Settings: parsing of values as in PostgreSQL, layers, transactions, and reports to clients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.settings.session_settings import SessionSettings
from wire.errors import CantChangeRuntimeParam, InvalidParameterValue, UndefinedObject


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("statement_timeout", "5000", "5s"),
        ("statement_timeout", "1500ms", "1500ms"),
        ("statement_timeout", "2min", "2min"),
        ("DateStyle", "dmy", "ISO, DMY"),
        ("datestyle", "SQL, European", "SQL, DMY"),
        ("DateStyle", "German", "German, DMY"),
        ("timezone", "europe/paris", "Europe/Paris"),
        ("timezone", "utc", "UTC"),
        ("timezone", "-3.5", "<-03:30>+03:30"),
        ("timezone", "-3:30", "-3:30"),
        ("timezone", "jst-9", "JST-9"),
        ("client_encoding", "utf-8", "UTF8"),
        ("IntervalStyle", "ISO_8601", "iso_8601"),
        ("sluice.engine", "Spark", "spark"),
        ("sluice.local_limit", "10MB", "10MB"),
        ("sluice.progress", "0.5", "0.5"),
        ("cursor_buffer_size", "65536", "64kB"),
        ("jit", "true", "on"),
        ("extra_float_digits", "3", "3"),
        ("my.own", "anything", "anything"),
    ],
)
def test_values_read_as_postgresql_reads_them(name: str, value: str, shown: str) -> None:
    settings = SessionSettings()
    settings.set(name, value)
    assert settings.get(name) == shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("statement_timeout", "5 parsecs"), ("DateStyle", "martian"), ("timezone", "Mars/Olympus"), ("jit", "maybe"),
        ("client_encoding", "EBCDIC"), ("sluice.engine", "steam"), ("extra_float_digits", "9"), ("extra_float_digits", "x"),
    ],
)  # fmt: skip
def test_values_that_make_no_sense_are_refused(name: str, value: str) -> None:
    settings = SessionSettings()
    before = settings.get(name)
    with pytest.raises(InvalidParameterValue):
        settings.set(name, value)
    assert settings.get(name) == before


def test_unknown_and_fixed_settings() -> None:
    settings = SessionSettings()
    with pytest.raises(UndefinedObject):
        settings.get("nonesuch")
    with pytest.raises(UndefinedObject):
        settings.set("sluice.nonesuch", "1")
    with pytest.raises(CantChangeRuntimeParam):
        settings.set("server_version", "16")


def test_reset_returns_to_what_the_startup_packet_said() -> None:
    settings = SessionSettings({"TimeZone": "Europe/Paris"})
    settings.set("timezone", "UTC")
    settings.set("timezone", None)
    assert settings.get("TimeZone") == "Europe/Paris"


def test_set_is_undone_by_rollback_and_set_local_by_commit_too() -> None:
    settings = SessionSettings()
    settings.begin()
    settings.set("application_name", "kept")
    settings.set("statement_timeout", "1s", local=True)
    assert settings.get("statement_timeout") == "1s"
    settings.commit()
    assert (settings.get("application_name"), settings.get("statement_timeout")) == ("kept", "0")
    settings.begin()
    settings.set("application_name", "lost")
    settings.rollback()
    assert settings.get("application_name") == "kept"


def test_a_transaction_begins_with_the_sessions_default_modes() -> None:
    settings = SessionSettings()
    settings.set("default_transaction_isolation", "repeatable read")
    settings.begin()
    assert settings.get("transaction_isolation") == "repeatable read"
    settings.set("transaction_isolation", "serializable", local=True)
    settings.commit()
    settings.begin()
    assert settings.get("transaction_isolation") == "repeatable read"
    settings.set("default_transaction_isolation", "read committed")
    settings.rollback()
    settings.begin()
    assert settings.get("transaction_isolation") == "repeatable read"
    settings.rollback()


def test_savepoints_nest() -> None:
    settings = SessionSettings()
    settings.begin()
    settings.set("work_mem", "1MB")
    token = settings.savepoint()
    settings.set("work_mem", "2MB")
    inner = settings.savepoint()
    settings.set("work_mem", "3MB")
    settings.release(inner)
    assert settings.get("work_mem") == "3MB"
    settings.rollback_to(token)
    assert settings.get("work_mem") == "1MB"
    settings.rollback_to(token)
    settings.commit()
    assert settings.get("work_mem") == "1MB"


def test_clients_are_told_of_reported_settings_only_when_they_change() -> None:
    told: list[tuple[str, str]] = []
    settings = SessionSettings(on_report=lambda name, value: told.append((name, value)))
    settings.set("application_name", "a")
    settings.set("application_name", "a")
    settings.set("work_mem", "1MB")
    settings.begin()
    settings.set("timezone", "Asia/Tokyo")
    settings.rollback()
    assert told == [("application_name", "a"), ("TimeZone", "Asia/Tokyo"), ("TimeZone", "UTC")]


_NAMES = ("TimeZone", "DateStyle", "statement_timeout", "transaction_isolation", "my.own")
_VALUES = {
    "TimeZone": ("UTC", "Europe/Paris"), "DateStyle": ("dmy", "German"), "statement_timeout": ("5s", "0"),
    "transaction_isolation": ("serializable", "read committed"), "my.own": ("one", "two"),
}  # fmt: skip
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("set", "set local")), st.sampled_from(_NAMES), st.sampled_from((0, 1, None))),
        st.tuples(
            st.sampled_from(("begin", "commit", "rollback", "savepoint", "reset all", "fix")),
            st.just("TimeZone"),
            st.none(),
        ),
    ),
    max_size=12,
)


def _take_step(settings: SessionSettings, what: str, name: str, number: int | None) -> None:
    match what:
        case "set" | "set local":
            settings.set(name, None if number is None else _VALUES[name][number], local=what == "set local")
        case "begin":
            settings.begin()
        case "commit":
            settings.commit()
        case "rollback":
            settings.rollback()
        case "savepoint":
            settings.savepoint()
        case "reset all":
            settings.reset_all()
        case "fix":
            settings.fix(name, "Asia/Tokyo")


@given(_STEPS)
def test_values_that_were_asked_for_before_are_those_of_settings_that_nobody_has_asked(
    steps: list[tuple[str, str, int | None]],
) -> None:
    asked, twin = SessionSettings(), SessionSettings()
    for settings in (asked, twin):
        settings.set("my.own", "zero")
    for what, name, number in steps:
        for settings in (asked, twin):
            _take_step(settings, what, name, number)
        for one in _NAMES:
            asked.get(one), asked.get(one.lower())
    for one in _NAMES:
        assert asked.get(one) == asked.get(one.lower()) == twin.get(one)


def test_a_transaction_that_changes_no_setting_leaves_their_version_as_it_was() -> None:
    settings = SessionSettings()
    settings.set("TimeZone", "Europe/Paris")
    before = settings.version
    for end in (settings.commit, settings.rollback):
        settings.begin()
        end()
    assert settings.version == before
    settings.begin()
    settings.set("TimeZone", "UTC", local=True)
    settings.commit()
    assert settings.version > before
    assert settings.get("TimeZone") == "Europe/Paris"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("x" * 63, "x" * 63),
        ("x" * 100, "x" * 63),
        ("é" * 40, "?" * 62),
        ("a\tb\u20ac", "a?b???"),
    ],
)
def test_the_name_of_an_application_is_short_and_printable(given: str, shown: str) -> None:
    """guc.c, GUC_IS_NAME; string.c, pg_clean_ascii. libpq ends a connection when a reported value is longer than it
    expects.
    """
    settings = SessionSettings({"application_name": given})
    assert settings.get("application_name") == shown
    settings.set("application_name", given)
    assert settings.get("application_name") == shown


def test_a_long_time_zone_is_invalid_at_once() -> None:
    with pytest.raises(InvalidParameterValue):
        SessionSettings().set("TimeZone", "x" * 256)

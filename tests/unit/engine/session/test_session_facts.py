"""The facts that a session has cached about its settings and the catalog (`engine.session.context.session_facts`),
against a new session.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from support.local_member import LocalMember, local_member

from engine.planner.engine_model import EngineModel
from engine.session.context.session_facts import SettingsFacts
from engine.settings.session_settings import SessionSettings

_ASKED: Final = (
    "select current_schemas(true)::text",
    "select current_user::text, session_user::text, current_schema()::text",
    "select count(*) from first.told",
    "select count(*) from told",
    "select date '2026-02-01' + interval '1 month', timestamptz '2026-02-01 12:00+00'::text",
)
#: What another session changes, one after the other.
_CHANGES: Final = (
    "create role reader", "create schema first", "create table first.told (n int)", "grant usage on schema first to reader",
    "grant select on first.told to reader", "revoke select on first.told from reader",
    "alter role reader superuser", "alter role reader nosuperuser", "revoke usage on schema first from reader",
    "create table told (n int)", "grant select on told to reader", "create schema reader",
    "create table reader.told (n int)", "alter schema reader owner to reader", "drop schema first cascade",
)  # fmt: skip
#: What the session changes itself.
_SETTINGS: Final = (
    'set search_path to first, "$user", public', "set role other_reader", "reset role", "set search_path to public",
    "set session_authorization to other_reader", "reset session_authorization", "set TimeZone to 'Asia/Tokyo'",
)  # fmt: skip


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as member:
        yield member


def _answers(connection: psycopg.Connection[Any]) -> list[object]:
    found: list[object] = []
    for statement in _ASKED:
        try:
            found.append(connection.execute(statement).fetchall())
        except psycopg.Error as error:
            found.append((error.sqlstate, error.diag.message_primary))
    return found


def test_a_session_sees_each_change_that_a_new_session_sees(member: LocalMember) -> None:
    seen: set[str] = set()
    with member.connect() as changer, member.connect() as old, member.connect() as old_reader:
        for one in _CHANGES:
            changer.execute(one)
            if one == "create role reader":
                old_reader.execute("set role reader")
                old_reader.execute('set search_path to first, "$user", public')
            with member.connect() as new, member.connect() as new_reader:
                assert _answers(old) == _answers(new), one
                new_reader.execute("set role reader")
                new_reader.execute('set search_path to first, "$user", public')
                answers = _answers(new_reader)
                assert _answers(old_reader) == answers, one
                seen.add(str(answers))
    assert len(seen) > len(_CHANGES) // 2, "the changes are to be seen at all"


def test_a_session_sees_its_own_settings_as_a_session_that_asks_for_the_first_time(member: LocalMember) -> None:
    with member.connect() as changer:
        changer.execute("create role other_reader")
        changer.execute("create schema first")
    with member.connect() as old:
        for number, one in enumerate(_SETTINGS):
            _answers(old)
            old.execute(one)
            with member.connect() as new:
                for before in _SETTINGS[: number + 1]:
                    new.execute(before)
                assert _answers(old) == _answers(new), one
        old.execute("begin")
        old.execute("set local search_path to first")
        old.execute("create schema own")
        old.execute("set local search_path to own, first")
        inside = old.execute(_ASKED[0]).fetchall()
        old.execute("rollback")
        with member.connect() as new:
            for before in _SETTINGS:
                new.execute(before)
            assert _answers(old) == _answers(new)
        assert inside == [("{pg_catalog,own,first}",)]


def test_terms_follow_the_model_of_the_engines() -> None:
    """It changes without a setting changing."""
    facts = SettingsFacts(SessionSettings({}), "reader", None)
    before, after = EngineModel(), EngineModel(spark_cores=8)
    known = facts.terms(before)
    assert facts.terms(before) is known
    assert facts.terms(after).model is after


def test_terms_follow_the_host_of_a_shared_spark() -> None:
    facts = SettingsFacts(SessionSettings({}), "reader", None)
    model = EngineModel()
    assert (facts.terms(model).spark_member, facts.terms(model, "m2").spark_member) == (None, "m2")
    assert facts.terms(model, "m3").on_this_member().spark_host == "m3"
    fixed = SettingsFacts(SessionSettings({}), "reader", "m1")
    assert (fixed.terms(model).spark_member, fixed.terms(model).spark_host) == ("m1", None)

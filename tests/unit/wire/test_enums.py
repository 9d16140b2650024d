"""Enums: numbers in the labels' order, text from numbers, types that are sent to other processes."""

from __future__ import annotations

import pickle

import msgspec
import pyarrow as pa
import pytest

import engine.executors.spark.write_task  # noqa: F401 -- says how types are pickled
from wire.errors import InvalidTextRepresentation
from wire.types import pg_types as t
from wire.types.enums import STEP, enum_text, read_enum
from wire.types.user_types import TypeTold, enum_type, type_heard, type_told

MOOD = enum_type(16385, 16384, "mood", "mood", ((STEP, "sad"), (STEP * 2, "ok"), (STEP * 3, "happy")))


def test_labels_and_numbers() -> None:
    numbers = [read_enum(MOOD, label) for label in ("happy", "sad", "ok")]
    column = pa.array([*numbers, None], pa.int64())
    assert enum_text(MOOD, column).join().to_pylist()[:3] == [b"happy", b"sad", b"ok"]
    assert sorted(numbers) == [read_enum(MOOD, label) for label in ("sad", "ok", "happy")]
    with pytest.raises(InvalidTextRepresentation, match='invalid input value for enum mood: "glad"'):
        read_enum(MOOD, "glad")


def test_a_slice_has_its_own_labels() -> None:
    column = pa.array([STEP, STEP * 2, STEP * 3], pa.int64())
    assert enum_text(MOOD, column.slice(1)).join().to_pylist() == [b"ok", b"happy"]


@pytest.mark.parametrize("typ", [t.INT4, MOOD, t.array_of(MOOD)])
def test_types_are_told(typ: t.PgType) -> None:
    packed = msgspec.msgpack.encode(type_told(typ))
    assert type_heard(msgspec.msgpack.decode(packed, type=TypeTold)) is typ
    assert pickle.loads(pickle.dumps(typ)) is typ

"""The member that hosts the Spark application of several, after one of them could not start it."""

from __future__ import annotations

from collections.abc import Sequence

from engine.contracts.mesh import MemberInfo
from engine.contracts.shared_spark import Application, SharedSpark
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.sharing import SparkSharing
from wire.errors import SqlError

_FAILURE = SqlError("Spark could not be started: no Java", sqlstate="58000")


class Members:
    """This member, m1, and others that announce the same master. `sharing` is this member's."""

    member = "m1"

    def __init__(self, *others: str) -> None:
        self._others = others
        self.sharing = SparkSharing(SparkConfig("yarn", allocation="shared"), self, lambda: Application.NONE)

    def members(self) -> Sequence[MemberInfo]:
        mine = self.sharing.announcement
        others = (MemberInfo(m, "1", "", "", "data", "up", 0, "", spark=SharedSpark(mine.key)) for m in self._others)
        return (MemberInfo("m1", "1", "", "", "data", "up", 0, "", local=True, spark=mine), *others)


def test_another_member_takes_over() -> None:
    sharing = Members("m2", "m3").sharing
    assert sharing.other_host is None
    error = sharing.note_failure(_FAILURE)
    assert error is not None
    assert (error.sqlstate, error.detail) == ("40001", "Spark could not be started: no Java")
    assert 'member "m2" hosts it' in error.message
    assert sharing.other_host == "m2"
    assert sharing.announcement.failed


def test_the_only_member_remains() -> None:
    sharing = Members().sharing
    assert sharing.note_failure(_FAILURE) is None
    assert sharing.other_host is None

"""Determines the member that hosts the Spark application that members share (`engine.contracts.shared_spark`)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.contracts.mesh import MemberInfo
from engine.contracts.shared_spark import Application


def host_of(members: Sequence[MemberInfo], key: str) -> MemberInfo | None:
    """Return the member that hosts the application of this key; None if no member can.

    It is the one whose application has come furthest, so that a member that returns does not take over, and of several
    such members one that has not just failed to start Spark, and the one with the smallest name. A member that drains
    hosts only for itself.
    """
    able = [
        m
        for m in members
        if m.spark.key == key
        and m.role == "data"
        and (m.state in ("up", "suspect") or (m.local and m.spark.application is not Application.NONE))
    ]
    return min(able, key=lambda m: (-m.spark.application, m.spark.failed, m.id), default=None)

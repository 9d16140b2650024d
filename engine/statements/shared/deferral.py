"""The state of a transaction's deferred constraints: which DEFERRABLE constraints are deferred, and which checks are
pending. It is an immutable value, so that a savepoint can keep it (trigger.c: AfterTriggersData, SetConstraintState).
`engine.statements.dml.deferred` runs the checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from engine.catalog.model.objects import Constraint
from wire.dataclass import dataclass

#: The cause of a check: new rows of a key, new rows that reference a key, a key that is gone.
Cause = Literal["key", "new", "gone"]


@dataclass(frozen=True, slots=True)
class Event:
    """A pending check. constraint: its OID."""

    cause: Cause
    constraint: int


@dataclass(frozen=True, slots=True)
class Deferral:
    """See the module's docstring. every: the last SET CONSTRAINTS ALL. some: later settings of single constraints, by
    OID. events: the pending checks.
    """

    every: bool | None = None
    some: tuple[tuple[int, bool], ...] = ()
    events: tuple[Event, ...] = ()

    def is_deferred(self, constraint: Constraint) -> bool:
        if not constraint.deferrable:
            return False
        said = dict(self.some).get(constraint.oid, self.every)
        return constraint.deferrable == "deferred" if said is None else said

    def set_constraints(self, constraints: Iterable[Constraint] | None, *, deferred: bool) -> Deferral:
        """Return the state after SET CONSTRAINTS. constraints: None for all."""
        if constraints is None:
            return Deferral(deferred, (), self.events)
        some = dict(self.some) | {constraint.oid: deferred for constraint in constraints}
        return Deferral(self.every, tuple(some.items()), self.events)

    def with_event(self, event: Event) -> Deferral:
        if event in self.events:
            return self
        return Deferral(self.every, self.some, (*self.events, event))

    def without(self, event: Event) -> Deferral:
        return Deferral(self.every, self.some, tuple(other for other in self.events if other != event))

"""The sequences that fill columns of a statement's rows: those of serial and identity columns, by OID."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.catalog.model import acl
from engine.session.context.session_context import SessionContext


def take_values(session: SessionContext, oid: int, count: int) -> npt.NDArray[np.int64]:
    """Take values of a sequence for `count` rows. May block. Raises InsufficientPrivilege and the errors of
    `SessionSequences.take`.
    """
    found = session.catalog.sequence(oid)
    session.authority().require_sequence(found, acl.USAGE, acl.UPDATE)
    return session.sequences.take(found, count)

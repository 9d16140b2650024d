"""Long lists of parameters, bound as one value (`engine.plan_ir.expr.Parameters`).

A client's IN list or VALUES rows may have 65,535 parameters. Binding each as an expression, with the cast that its
context requires, takes seconds, and so does each pass over the plan. Parameters of one type are cast alike: one sample
of each type is bound, and its result applies to all of that type. If all samples give values of one type, the list is
one value from then on. If not, or if a sample raises an error, the list is bound item by item, which finds the invalid
item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.interrupts import check_for_interrupts
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Call, Expr, Parameters, ParamRef
from engine.sql.binder.scope import ParameterTypes
from engine.sql.parser.lexical.positions import position
from wire.common.digits import parse_digits
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: The number of items from which on a list is bound as one value.
MANY: Final = 1000
#: The maximum number of types in a list; a list with more is bound item by item.
_TYPES_MAX: Final = 8
#: From narrow to wide: each type holds all values of those before it.
_INTEGERS: Final = (t.INT2, t.INT4, t.INT8)


@dataclass(frozen=True, slots=True)
class ParameterList:
    """A list of parameters. indexes, places: the number and the position of each, in order. types: the type of each;
    None if its use decides it. samples: the first parameter of each type, in order.
    """

    parameters: ParameterTypes
    indexes: tuple[int, ...]
    places: tuple[int, ...]
    types: tuple[SqlType | None, ...]
    samples: tuple[ParamRef, ...]

    def become(self, typ: SqlType) -> Parameters | None:
        """Return the list as parameters of that type. Parameters without a type take the one that the first of them
        was given. Returns None if a parameter has other digits. Raises AmbiguousParameter.
        """
        untyped = next((sample.index for sample in self.samples if sample.type.pg is t.UNKNOWN), None)
        given = None if untyped is None else self.parameters.type_of(untyped)
        if given is not None:
            for index, known, at in zip(self.indexes, self.types, self.places, strict=True):
                check_for_interrupts()
                if known is None and self.parameters.fix(index, given, at) != given:
                    return None
        return Parameters(typ, self.indexes)


def read_list(nodes: Sequence[exp.Expression], parameters: ParameterTypes) -> ParameterList | None:
    """Return a long list that consists of parameters only; None for other lists, and if a parameter has a domain,
    whose values are checked one by one. Raises UndefinedParameter.
    """
    if len(nodes) < MANY:
        return None
    indexes, places = list[int](), list[int]()
    types = list[SqlType | None]()
    samples = dict[SqlType | None, ParamRef]()
    before: SqlType | str | None = "none"
    for node in nodes:
        check_for_interrupts()
        if not isinstance(node, exp.Parameter):
            return None
        index, at = parse_digits(node.name), position(node)
        known = parameters.type_of(index, at)
        if parameters.domain_of(index) is not None:
            return None
        # Comparing with the previous type is cheaper than hashing.
        if known is not before and known not in samples:
            if len(samples) == _TYPES_MAX:
                return None
            samples[known] = ParamRef(known or st.of(t.UNKNOWN), index, position=at)
        before = known
        indexes.append(index)
        places.append(at)
        types.append(known)
    return ParameterList(parameters, tuple(indexes), tuple(places), tuple(types), tuple(samples.values()))


def widest(types: Sequence[SqlType]) -> SqlType | None:
    """Return the type that holds all values of these types without a cast; None if there is none."""
    if all(typ == types[0] for typ in types):
        return types[0]
    if any(typ.pg not in _INTEGERS for typ in types):
        return None
    return max(types, key=lambda typ: _INTEGERS.index(typ.pg))


def uncast_integer(expr: Expr) -> ParamRef | None:
    """Return a parameter, or the parameter under casts of an integer to a wider one; None for anything else."""
    if isinstance(expr, ParamRef):
        return expr
    if not isinstance(expr, Call) or expr.function.kind != "cast" or len(expr.args) != 1:
        return None
    inner = uncast_integer(expr.args[0])
    if inner is None or inner.type.pg not in _INTEGERS or expr.type.pg not in _INTEGERS:
        return None
    return inner if _INTEGERS.index(inner.type.pg) < _INTEGERS.index(expr.type.pg) else None

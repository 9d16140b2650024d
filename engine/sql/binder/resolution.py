"""Resolution of a call's function or operator, from its name and its arguments' types alone.

The module is pure: it maps types to a `Choice`. The expression binder coerces the arguments to the choice's types
afterwards. Literals of unknown type take part as in PostgreSQL: they match any type, prefer the string category, and
take the type of the other arguments.

Source: PostgreSQL 15, chapters 10.2 and 10.3; parse_func.c (func_get_detail, func_select_candidate), parse_oper.c
(oper),
parse_coerce.c (check_generic_type_consistency, enforce_generic_type_consistency).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from engine.plan_ir.expr import Function
from engine.sql.binder.casts import POLYMORPHIC, can_coerce
from wire.dataclass import dataclass
from wire.errors import AmbiguousFunction, DatatypeMismatch, UndefinedFunction, UndefinedObject
from wire.types import pg_types as t
from wire.types.multiranges import MULTIRANGES, RANGES, subtype_of
from wire.types.ranges import SUBTYPES

Types = tuple[t.PgType, ...]

_ELEMENTS = (t.ANYELEMENT, t.ANYNONARRAY, t.ANYENUM)
_CONTAINERS = (t.ANYARRAY, t.ANYRANGE, t.ANYMULTIRANGE)
_RANGE_OF = {subtype: range_ for range_, subtype in SUBTYPES.items()}
_COMPATIBLES = (t.ANYCOMPATIBLE, t.ANYCOMPATIBLENONARRAY)


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen row. args: the type that each argument is coerced to; ANY leaves it as it is. returns: the type of the
    result.
    """

    function: Function
    args: Types
    returns: t.PgType


# -- candidates ------------------------------------------------------------------------------------------------------


def expand_signature(row: Function, count: int) -> Types | None:
    """Return the declared types for a call with `count` arguments; None if the row does not take that many."""
    declared = row.args
    if row.variadic and count >= len(declared):
        return declared + declared[-1:] * (count - len(declared))
    if row.variadic and count >= len(declared) - 1 and row.optional:
        return declared[:count]
    if len(declared) - row.optional <= count <= len(declared):
        return declared[:count]
    return None


@dataclass(frozen=True, slots=True)
class _Candidate:
    function: Function
    args: Types


def _candidates(rows: Iterable[Function], count: int) -> list[_Candidate]:
    """Return the rows that take `count` arguments. Of two with the same types, the one that needs no expansion or
    default remains.
    """
    found: dict[Types, _Candidate] = {}
    for row in rows:
        args = expand_signature(row, count)
        if args is None:
            continue
        rival = found.get(args)
        if rival is None or (rival.function.variadic and not row.variadic) or rival.function.optional > row.optional:
            found[args] = _Candidate(row, args)
    return list(found.values())


def _accepts(inputs: Types, declared: Types) -> bool:
    """Whether all types can be coerced, by implicit casts only (can_coerce_type)."""
    if not all(can_coerce(i, d, "implicit") for i, d in zip(inputs, declared, strict=True)):
        return False
    return not any(d in POLYMORPHIC for d in declared) or _is_consistent(inputs, declared)


def select_candidate(inputs: Types, candidates: list[_Candidate]) -> _Candidate | None:
    """Return the one best candidate, or None if the choice is not clear (func_select_candidate)."""
    for score in (_exact_matches, _exact_or_preferred):
        scores = [score(inputs, c.args) for c in candidates]
        candidates = [c for c, s in zip(candidates, scores, strict=True) if s == max(scores)]
        if len(candidates) == 1:
            return candidates[0]
    if t.UNKNOWN not in inputs:
        return None
    candidates = _by_category(inputs, candidates)
    if len(candidates) == 1:
        return candidates[0]
    return _by_known_types(inputs, candidates)


def _exact_matches(inputs: Types, declared: Types) -> int:
    return sum(i is d and i is not t.UNKNOWN for i, d in zip(inputs, declared, strict=True))


def _exact_or_preferred(inputs: Types, declared: Types) -> int:
    return sum(
        i is not t.UNKNOWN and (i is d or (d.preferred and d.category == i.category))
        for i, d in zip(inputs, declared, strict=True)
    )


def _by_category(inputs: Types, candidates: list[_Candidate]) -> list[_Candidate]:
    """Filter candidates by category: unknown arguments take the one that the candidates agree on, string if any of
    them wants a string.
    """
    wanted: list[tuple[int, str, bool]] = []
    for slot, given in enumerate(inputs):
        if given is not t.UNKNOWN:
            continue
        types = [c.args[slot] for c in candidates]
        categories = {x.category for x in types}
        if len(categories) > 1 and "S" not in categories:
            return candidates
        category = "S" if "S" in categories else categories.pop()
        wanted.append((slot, category, any(x.preferred for x in types if x.category == category)))
    kept = [c for c in candidates if all(_fits(c.args[s], category, preferred) for s, category, preferred in wanted)]
    return kept or candidates


def _fits(typ: t.PgType, category: str, preferred: bool) -> bool:
    return typ.category == category and (typ.preferred or not preferred)


def _by_known_types(inputs: Types, candidates: list[_Candidate]) -> _Candidate | None:
    """Apply the last heuristic: if all known arguments have one type, assume that the unknown ones have it too."""
    known = {i for i in inputs if i is not t.UNKNOWN}
    if len(known) != 1:
        return None
    assumed = (known.pop(),) * len(inputs)
    fitting = [c for c in candidates if _accepts(assumed, c.args)]
    return fitting[0] if len(fitting) == 1 else None


# -- polymorphic types -----------------------------------------------------------------------------------------------


def _is_consistent(inputs: Types, declared: Types) -> bool:
    """Whether the actual types can stand for the polymorphic ones together (check_generic_type_consistency)."""
    element = _element(inputs, declared)
    return element is not None and _compatible(inputs, declared) is not None


def _element(inputs: Types, declared: Types) -> t.PgType | None:
    """Infer the type for ANYELEMENT: unknown if nothing determines it, None for a contradiction."""
    found: t.PgType = t.UNKNOWN
    for given, want in zip(inputs, declared, strict=True):
        if given is t.UNKNOWN or want not in (*_ELEMENTS, *_CONTAINERS):
            continue
        if want is t.ANYENUM and given.category != "E":
            return None
        element = _inside(given, want)
        if element is None:
            return None
        if found is not t.UNKNOWN and found is not element:
            return None
        found = element
    if t.ANYNONARRAY in declared and found.is_array:
        return None
    # With anyenum, the element type of an anyarray argument beside it must be an enum, too.
    if t.ANYENUM in declared and found is not t.UNKNOWN and found.category != "E":
        return None
    return found


def _inside(given: t.PgType, want: t.PgType) -> t.PgType | None:
    """Return the element type of `given` if a container is required, or `given` itself if not; None if `given` is no
    such container.
    """
    if want is t.ANYARRAY:
        return t.element_of(given) if given.is_array else None
    if want is t.ANYRANGE:
        return SUBTYPES.get(given)
    if want is t.ANYMULTIRANGE:
        return subtype_of(given) if given in RANGES else None
    return given


def _compatible(inputs: Types, declared: Types) -> t.PgType | None:
    """Infer the type for ANYCOMPATIBLE: the common type, text if nothing determines it, None for a contradiction."""
    given: list[t.PgType] = []
    for actual, want in zip(inputs, declared, strict=True):
        if actual is t.UNKNOWN:
            continue
        if want in _COMPATIBLES:
            given.append(actual)
        elif want is t.ANYCOMPATIBLEARRAY:
            if not actual.is_array:
                return None
            given.append(t.element_of(actual))
    common = common_of(given)
    if common is None or (t.ANYCOMPATIBLENONARRAY in declared and common.is_array):
        return None
    return common


def common_of(types: Sequence[t.PgType]) -> t.PgType | None:
    """Return the common type of known types (select_common_type); text for none, None if they do not match."""
    if not types:
        return t.TEXT
    found = types[0]
    for other in types[1:]:
        if other is found:
            continue
        if other.category != found.category:
            return None
        if not found.preferred and can_coerce(found, other, "implicit") and not can_coerce(other, found, "implicit"):
            found = other
    return found if all(can_coerce(x, found, "implicit") for x in types) else None


def _concrete(function: Function, inputs: Types, declared: Types) -> Choice:
    """Return the choice with actual types in place of polymorphic ones (enforce_generic_type_consistency)."""
    if not any(x in POLYMORPHIC for x in (*declared, function.returns)):
        return Choice(function, declared, function.returns)
    element, compatible = _element(inputs, declared), _compatible(inputs, declared)
    if element is None or compatible is None:
        raise DatatypeMismatch('cannot determine element type of "anyarray" argument')
    if element is t.UNKNOWN and any(x in (*_ELEMENTS, *_CONTAINERS) for x in (*declared, function.returns)):
        raise DatatypeMismatch("could not determine polymorphic type because input has type unknown")
    if t.ANYCOMPATIBLEARRAY in declared and compatible.is_array:
        raise UndefinedObject(f"could not find array type for data type {compatible.sql_name}")

    def actual(typ: t.PgType) -> t.PgType:
        if typ in _ELEMENTS:
            return element
        if typ is t.ANYARRAY:
            return t.array_of(element)
        if typ is t.ANYRANGE:
            return _RANGE_OF[element]
        if typ is t.ANYMULTIRANGE:
            return MULTIRANGES[_RANGE_OF[element]]
        if typ in _COMPATIBLES:
            return compatible
        return t.array_of(compatible) if typ is t.ANYCOMPATIBLEARRAY else typ

    return Choice(function, tuple(actual(x) for x in declared), actual(function.returns))


# -- functions and operators -----------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def choose_function(rows: tuple[Function, ...], inputs: Types) -> Choice | None:
    """Return the row for a call, or None if no row can take the arguments (func_get_detail, without its casts).

    Raises AmbiguousFunction (without a message of its own: see `ambiguous_function`).
    """
    candidates = _candidates(rows, len(inputs))
    exact = [c for c in candidates if c.args == inputs]
    if exact:
        return _concrete(exact[0].function, inputs, exact[0].args)
    return _choose([c for c in candidates if _accepts(inputs, c.args)], inputs)


@lru_cache(maxsize=8192)
def choose_operator(rows: tuple[Function, ...], inputs: Types) -> Choice | None:
    """Return the row for an operator's operands, or None (oper(), left_oper()). Raises AmbiguousFunction."""
    candidates = _candidates(rows, len(inputs))
    for types in (inputs, _assume_same_type(inputs)):
        exact = [c for c in candidates if c.args == types]
        if exact:
            return _concrete(exact[0].function, types, exact[0].args)
    return _choose([c for c in candidates if _accepts(inputs, c.args)], inputs)


def _assume_same_type(inputs: Types) -> Types:
    """Give an unknown operand the type of a known one beside it, which is tried first."""
    if len(inputs) == 2 and t.UNKNOWN in inputs:
        known = inputs[0] if inputs[1] is t.UNKNOWN else inputs[1]
        return (known, known)
    return inputs


def _choose(fitting: list[_Candidate], inputs: Types) -> Choice | None:
    if not fitting:
        return None
    best = fitting[0] if len(fitting) == 1 else select_candidate(inputs, fitting)
    if best is None:
        raise AmbiguousFunction("could not choose a best candidate")
    return _concrete(best.function, inputs, best.args)


# -- errors ----------------------------------------------------------------------------------------------------------


def signature(name: str, inputs: Sequence[t.PgType]) -> str:
    """Return `foo(integer, unknown)` (func_signature_string)."""
    return f"{name}({', '.join(i.sql_name for i in inputs)})"


def operator_signature(symbol: str, inputs: Sequence[t.PgType]) -> str:
    """Return `text + integer` or `- text` (op_signature_string)."""
    names = [i.sql_name for i in inputs]
    return f"{symbol} {names[0]}" if len(names) == 1 else f"{names[0]} {symbol} {names[1]}"


def undefined_function(name: str, inputs: Sequence[t.PgType], position: int | None) -> UndefinedFunction:
    return UndefinedFunction(
        f"function {signature(name, inputs)} does not exist",
        hint="No function matches the given name and argument types. You might need to add explicit type casts.",
        position=position,
    )


def ambiguous_function(name: str, inputs: Sequence[t.PgType], position: int | None) -> AmbiguousFunction:
    return AmbiguousFunction(
        f"function {signature(name, inputs)} is not unique",
        hint="Could not choose a best candidate function. You might need to add explicit type casts.",
        position=position,
    )


def undefined_operator(symbol: str, inputs: Sequence[t.PgType], position: int | None) -> UndefinedFunction:
    kind = "argument type" if len(inputs) == 1 else "argument types"
    return UndefinedFunction(
        f"operator does not exist: {operator_signature(symbol, inputs)}",
        hint=f"No operator matches the given name and {kind}. You might need to add {_casts(inputs)}.",
        position=position,
    )


def ambiguous_operator(symbol: str, inputs: Sequence[t.PgType], position: int | None) -> AmbiguousFunction:
    return AmbiguousFunction(
        f"operator is not unique: {operator_signature(symbol, inputs)}",
        hint="Could not choose a best candidate operator. You might need to add explicit type casts.",
        position=position,
    )


def _casts(inputs: Sequence[t.PgType]) -> str:
    return "an explicit type cast" if len(inputs) == 1 else "explicit type casts"

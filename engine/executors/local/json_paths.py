"""Evaluation of a jsonpath over a document, as PostgreSQL's jsonb_path_ functions do it.

**Items.** The value of a path is a sequence of items: parts of the document (dicts, lists, `Number`, str, bool and
None, as `json_documents` reads them), and dates and times, which only datetime() produces. A path consists of a head
(`$`, `@`, a constant, a variable, an operator) and steps. Each step is applied to every item that the preceding one
produced. Sequences are generators: items that are not requested are not computed. PostgreSQL does the same, and it
shows in which errors are met.

**Modes.** In lax mode, a step for members or for a single value is applied to the elements of an array instead, one
level deep (unwrapping). A step for arrays treats any other item as an array that contains it (wrapping). A structural
error (no such key, no such element) gives an empty sequence. In strict mode it is an error. Below `.**` structural
errors are ignored in both modes, because its steps meet parts of all kinds.

**Errors.** A function that is called with `silent` catches `_Failed` and returns what was found before it. Any other
error (an unknown variable, a comparison that needs a time zone) is an SqlError, which reaches the client. Where errors
are not raised, the failure of a step after `.**` on a container itself is dropped, because the container's parts are
still to come.

**Predicates** are true, false or unknown (None). Their operands are sequences, and a predicate holds if some pair of
items satisfies it. An error in an operand makes the predicate unknown, and so does a pair that does not compare; in lax
mode the latter only if no pair holds. A filter keeps the items for which its predicate is true. As an item, unknown is
null.

**keyvalue()** returns an id for each object: which document it belongs to (the path's, that of its variables, or one
made by an earlier keyvalue(), by number), and its offset in PostgreSQL's binary form of that document
(`json_path_ids`). So the evaluation always keeps track of the document from which the items come.

Neighbours: `wire.types.jsonpath` builds the tree; `numeric_arithmetic` and `json_path_moments` compute with numbers and
moments; `json_path_functions` applies this module to columns.

Source: PostgreSQL 15, section 9.16.2, jsonpath_exec.c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from engine.executors.local import json_path_moments as moments
from engine.executors.local import numeric_arithmetic as arithmetic
from engine.executors.local.json_documents import Number
from engine.executors.local.json_path_ids import ObjectIds
from engine.sql.regex.render import render_test
from engine.sql.text_templates.reading import Moment, check_standard
from wire.errors import (
    FeatureNotSupported,
    InvalidArgumentForJsonDatetime,
    InvalidJsonSubscript,
    JsonArrayNotFound,
    JsonMemberNotFound,
    JsonNumberNotFound,
    JsonObjectNotFound,
    NonNumericJsonItem,
    SingletonJsonItemRequired,
    SqlError,
    UndefinedObject,
)
from wire.types import pg_types as t
from wire.types.jsonpath import LAST, Node, Path, Regex
from wire.types.numbers_input import read_float

_INT_FIRST, _INT_END = -(2**31), 2**31
_FLOAT_DIGITS: Final = 15
_ARITHMETIC: Final[dict[str, Callable[[Decimal, Decimal], Decimal]]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.remainder,
}
_COMPARISONS: Final[dict[str, Callable[[int], bool]]] = {
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    ">": lambda order: order > 0,
    "<=": lambda order: order <= 0,
    ">=": lambda order: order >= 0,
}
_CONDITIONS: Final = frozenset(("&&", "||", "!", "is unknown", "exists", "starts with", "like_regex", *_COMPARISONS))
_NUMERIC_METHODS: Final[dict[str, Callable[[Decimal], Decimal]]] = {
    "abs": Decimal.copy_abs,
    "floor": arithmetic.floor,
    "ceiling": arithmetic.ceiling,
}


class _Failed(Exception):
    """An error that `silent` suppresses."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(error.message)
        self.error = error


class _Scope(NamedTuple):
    """The context of an item.

    current: the value of `@`. size: the size of the array whose subscripts are computed, for `last`. lenient: whether
    structural errors are ignored. document: the document that items come from, as its number and its value. raising:
    whether errors will be raised. listing: whether all items are wanted, and not only whether there is one.
    """

    current: Any
    size: int
    lenient: bool
    document: tuple[int, Any]
    raising: bool
    listing: bool


class Search:
    """The search of a path in a document.

    document, variables: values as `json_documents.read` returns them; if variables is None, all variables are null, as
    for the operators. silent: whether suppressible errors end the search without being raised. zone: the session's time
    zone; None for functions that may not use it.
    """

    def __init__(
        self, path: Path, document: Any, variables: dict[str, Any] | None, *, silent: bool, zone: str | None
    ) -> None:
        self._path, self._document, self._variables, self._zone = path, document, variables, zone
        self._silent, self._lax = silent, not path.strict
        self._ids = ObjectIds(1 if variables is None else 2)

    def find_items(self) -> list[Any]:
        """Return the items, dates and times as texts. Where an error is suppressed, return the items before it."""
        items: list[Any] = []
        try:
            for item in self._all(listing=True):
                items.append(moments.text(item) if isinstance(item, Moment) else item)
        except _Failed as failed:
            if not self._silent:
                raise failed.error from None
        return items

    def exists(self) -> bool | None:
        """Return whether there is an item; None if an error is suppressed. In strict mode, an error in any item counts."""
        try:
            return self._any(self._all(listing=not self._lax))
        except _Failed as failed:
            if not self._silent:
                raise failed.error from None
        return None

    def _all(self, *, listing: bool) -> Iterator[Any]:
        scope = _Scope(self._document, -1, self._lax, (0, self._document), not self._silent, listing)
        return self._items(self._path.root, self._document, scope)

    def _any(self, items: Iterator[Any]) -> bool:
        return next((True for _ in items), False) if self._lax else bool(list(items))

    # -- steps

    def _items(self, node: Node, item: Any, scope: _Scope) -> Iterator[Any]:
        return self._run((node, *node.steps), 0, item, scope, self._lax)

    def _run(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope, unwrap: bool) -> Iterator[Any]:
        """Yield the items that the steps of `chain` from `at` on find when applied to an item. unwrap: whether an
        array is to be replaced by its elements for steps that unwrap.
        """
        node = chain[at]
        if unwrap and isinstance(item, list) and _is_unwrapping(node):
            for element in item:
                yield from self._run(chain, at, element, scope, False)
            return
        if node.kind in _CONDITIONS:
            yield from self._next(chain, at, self._condition(node, item, scope), scope)
            return
        match node.kind:
            case "$":
                yield from self._next(chain, at, self._document, scope._replace(document=(0, self._document)))
            case "@":
                yield from self._next(chain, at, scope.current, scope)
            case "last":
                yield from self._next(chain, at, Number(scope.size - 1), scope)
            case "constant" | "string":
                yield from self._next(chain, at, node.value, scope)
            case "number":
                yield from self._next(chain, at, _number(node.value), scope)
            case "variable":
                yield from self._next(
                    chain, at, self._variable(node.value), scope._replace(document=(1, self._variables))
                )
            case "key":
                yield from self._member(chain, at, item, scope)
            case "any key":
                yield from self._members(chain, at, item, scope)
            case "any element":
                yield from self._elements(chain, at, item, scope)
            case "subscripts":
                yield from self._subscripts(chain, at, item, scope)
            case "any":
                yield from self._parts(chain, at, item, scope)
            case "filter":
                if self._condition(node.args[0], item, scope._replace(current=item)):
                    yield from self._next(chain, at, item, scope)
            case "unary":
                yield from self._apply_sign(chain, at, item, scope)
            case "method":
                yield from self._method(chain, at, item, scope)
            case _:
                yield from self._next(chain, at, self._compute(node, item, scope), scope)

    def _next(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        if at + 1 == len(chain):
            yield item
        else:
            yield from self._run(chain, at + 1, item, scope, self._lax)

    def _variable(self, name: str) -> Any:
        if self._variables is None:
            return None
        if name not in self._variables:
            raise UndefinedObject(f'could not find jsonpath variable "{name}"')
        return self._variables[name]

    def _member(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        key = chain[at].value
        if isinstance(item, dict):
            if key in item:
                yield from self._next(chain, at, item[key], scope)
            elif not scope.lenient:
                raise _Failed(JsonMemberNotFound(f'JSON object does not contain key "{key}"'))
        elif not scope.lenient:
            raise _Failed(JsonMemberNotFound("jsonpath member accessor can only be applied to an object"))

    def _members(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        if isinstance(item, dict):
            for member in item.values():
                yield from self._next(chain, at, member, scope)
        elif not scope.lenient:
            raise _Failed(JsonObjectNotFound("jsonpath wildcard member accessor can only be applied to an object"))

    def _elements(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        if isinstance(item, list):
            for element in item:
                yield from self._next(chain, at, element, scope)
        elif self._lax:
            yield from self._next(chain, at, item, scope)
        elif not scope.lenient:
            raise _Failed(JsonArrayNotFound("jsonpath wildcard array accessor can only be applied to an array"))

    def _subscripts(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        if not isinstance(item, list) and not self._lax:
            if not scope.lenient:
                raise _Failed(JsonArrayNotFound("jsonpath array accessor can only be applied to an array"))
            return
        elements = item if isinstance(item, list) else [item]
        inside = scope._replace(size=len(elements))
        for bounds in chain[at].args:
            indexes = [self._index(bound, item, inside) for bound in bounds.args]
            first, last = indexes[0], indexes[-1]
            if not scope.lenient and (first < 0 or first > last or last >= len(elements)):
                raise _Failed(InvalidJsonSubscript("jsonpath array subscript is out of bounds"))
            for element in elements[max(first, 0) : max(last + 1, 0)]:
                yield from self._next(chain, at, element, inside)

    def _index(self, node: Node, item: Any, scope: _Scope) -> int:
        found = list(self._items(node, item, scope._replace(listing=True)))
        if len(found) != 1 or not isinstance(found[0], Number):
            raise _Failed(InvalidJsonSubscript("jsonpath array subscript is not a single numeric value"))
        index = int(Decimal(found[0]))
        if not _INT_FIRST <= index < _INT_END:
            raise _Failed(InvalidJsonSubscript("jsonpath array subscript is out of integer range"))
        return index

    def _parts(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        """Yield the item itself, its parts, their parts, and so on, for the requested levels."""
        inside = scope._replace(lenient=True)
        container = isinstance(item, dict | list)
        if chain[at].value[0] == 0:
            try:
                yield from self._next(chain, at, item, inside)
            except _Failed:
                if scope.raising or not container:
                    raise
        if container:
            yield from self._below(chain, at, item, inside, 1)

    def _below(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope, level: int) -> Iterator[Any]:
        first, last = chain[at].value
        if level > last:
            return
        for part in item.values() if isinstance(item, dict) else item:
            container = isinstance(part, dict | list)
            if level >= first or (first == last == LAST and not container):
                yield from self._next(chain, at, part, scope)
            if container and level < last:
                yield from self._below(chain, at, part, scope, level + 1)

    # -- operators

    def _operand(self, node: Node, item: Any, scope: _Scope, unwrap: bool) -> list[Any]:
        """Return an operand's items; in lax mode and with `unwrap`, the elements of arrays in place of the arrays."""
        items = self._items(node, item, scope._replace(listing=True))
        if not unwrap or not self._lax:
            return list(items)
        return [one for found in items for one in (found if isinstance(found, list) else [found])]

    def _compute(self, node: Node, item: Any, scope: _Scope) -> Number:
        sides = [self._operand(arg, item, scope, True) for arg in node.args]
        for side, found in zip(("left", "right"), sides, strict=True):
            if len(found) != 1 or not isinstance(found[0], Number):
                words = f"{side} operand of jsonpath operator {node.kind} is not a single numeric value"
                raise _Failed(SingletonJsonItemRequired(words))
        [left], [right] = sides
        try:
            return _number(_ARITHMETIC[node.kind](Decimal(left), Decimal(right)))
        except SqlError as error:
            raise _Failed(error) from None

    def _apply_sign(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        node = chain[at]
        passing = not scope.listing and at + 1 == len(chain)
        for found in self._operand(node.args[0], item, scope, True):
            if isinstance(found, Number):
                value = _number(arithmetic.negate(Decimal(found))) if node.value == "-" else found
                yield from self._next(chain, at, value, scope)
            elif not passing:
                words = f"operand of unary jsonpath operator {node.value} is not a numeric value"
                raise _Failed(JsonNumberNotFound(words))

    # -- methods

    def _method(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        name = chain[at].value
        match name:
            case "type":
                yield from self._next(chain, at, _type_name(item), scope)
            case "size":
                if isinstance(item, list) or self._lax:
                    size = len(item) if isinstance(item, list) else 1
                    yield from self._next(chain, at, Number(size), scope)
                elif not scope.lenient:
                    raise _Failed(JsonArrayNotFound("jsonpath item method .size() can only be applied to an array"))
            case "double":
                yield from self._next(chain, at, _double(item), scope)
            case "datetime":
                template = chain[at].args[0].value if chain[at].args else None
                yield from self._next(chain, at, _datetime(item, template), scope)
            case "keyvalue":
                yield from self._pairs(chain, at, item, scope)
            case _:
                if not isinstance(item, Number):
                    words = f"jsonpath item method .{name}() can only be applied to a numeric value"
                    raise _Failed(NonNumericJsonItem(words))
                yield from self._next(chain, at, _number(_NUMERIC_METHODS[name](Decimal(item))), scope)

    def _pairs(self, chain: Sequence[Node], at: int, item: Any, scope: _Scope) -> Iterator[Any]:
        if not isinstance(item, dict):
            raise _Failed(JsonObjectNotFound("jsonpath item method .keyvalue() can only be applied to an object"))
        if not scope.listing and at + 1 == len(chain):
            # Only the pair's existence matters, so it gets no document number.
            yield from [item] if item else []
            return
        number, document = scope.document
        key_of_item = self._ids.id_of(item, number, document)
        for key, value in item.items():
            pair = {"id": key_of_item, "key": key, "value": value}
            inside = scope._replace(document=(self._ids.add_document(), pair))
            yield from self._next(chain, at, pair, inside)

    # -- predicates

    def _condition(self, node: Node, item: Any, scope: _Scope) -> bool | None:
        match node.kind:
            case "&&":
                left = self._condition(node.args[0], item, scope)
                if left is False:
                    return False
                right = self._condition(node.args[1], item, scope)
                return left if right else right
            case "||":
                left = self._condition(node.args[0], item, scope)
                if left:
                    return True
                right = self._condition(node.args[1], item, scope)
                return left if right is False else right
            case "!":
                inside = self._condition(node.args[0], item, scope)
                return None if inside is None else not inside
            case "is unknown":
                return self._condition(node.args[0], item, scope) is None
            case "exists":
                quiet = scope._replace(raising=False, listing=not self._lax)
                try:
                    return self._any(self._items(node.args[0], item, quiet))
                except _Failed:
                    return None
        return self._some_pair(node, item, scope._replace(raising=False))

    def _some_pair(self, node: Node, item: Any, scope: _Scope) -> bool | None:
        compares = node.kind in _COMPARISONS
        try:
            left = self._operand(node.args[0], item, scope, True)
            right = self._operand(node.args[1], item, scope, compares) if len(node.args) > 1 else [None]
        except _Failed:
            return None
        holds = unknown = False
        for a in left:
            for b in right:
                found = self._pair(node, a, b)
                if found is None and not self._lax:
                    return None
                if found and self._lax:
                    return True
                holds, unknown = holds or bool(found), unknown or found is None
        return True if holds else None if unknown else False

    def _pair(self, node: Node, a: Any, b: Any) -> bool | None:
        if node.kind == "like_regex":
            return _matches(node.value, a) if _is_text(a) else None
        if node.kind == "starts with":
            return a.startswith(b) if _is_text(a) and _is_text(b) else None
        order = self._order(a, b)
        if order is None and (a is None or b is None):
            return node.kind == "!="
        return None if order is None else _COMPARISONS[node.kind](order)

    def _order(self, a: Any, b: Any) -> int | None:
        """Compare two items. Returns a number below, at or above 0; None if they do not compare."""
        kind = _kind(a)
        if kind != _kind(b) or kind == "container":
            return None
        match kind:
            case "null":
                return 0
            case "moment":
                return moments.compare_moments(a, b, self._zone)
            case "number":
                a, b = Decimal(a), Decimal(b)
        return int(a > b) - int(a < b)


def _is_unwrapping(node: Node) -> bool:
    if node.kind == "method":
        return node.value not in ("type", "size")
    return node.kind in ("key", "any key", "filter")


def _number(value: Decimal) -> Number:
    return Number(f"{value:f}")


def _is_text(item: Any) -> bool:
    return isinstance(item, str) and not isinstance(item, Number)


def _kind(item: Any) -> str:
    if isinstance(item, dict | list):
        return "container"
    if isinstance(item, Number):
        return "number"
    if isinstance(item, Moment):
        return "moment"
    return "null" if item is None else "boolean" if isinstance(item, bool) else "string"


def _type_name(item: Any) -> str:
    if isinstance(item, Moment):
        return moments.type_name(item)
    return ("object" if isinstance(item, dict) else "array") if isinstance(item, dict | list) else _kind(item)


def _double(item: Any) -> Number:
    if not isinstance(item, str):
        words = "jsonpath item method .double() can only be applied to a string or numeric value"
        raise _Failed(NonNumericJsonItem(words))
    number = isinstance(item, Number)
    try:
        value = read_float(t.FLOAT8, item)
    except SqlError:
        value = float("nan")
    if value - value != 0:
        words = (
            "numeric argument of jsonpath item method .double() is out of range for type double precision"
            if number
            else "string argument of jsonpath item method .double() is not a valid representation of a double precision number"
        )
        raise _Failed(NonNumericJsonItem(words))
    return item if isinstance(item, Number) else _number(Decimal(f"{value + 0.0:.{_FLOAT_DIGITS}g}"))


def _datetime(item: Any, template: str | None) -> Moment:
    if not _is_text(item):
        words = "jsonpath item method .datetime() can only be applied to a string"
        raise _Failed(InvalidArgumentForJsonDatetime(words))
    if template is not None:
        check_standard(template)
    try:
        return moments.read(item, template)
    except SqlError as error:
        raise _Failed(error) from None


# -- regular expressions -------------------------------------------------------------------------------------------------


@lru_cache(64)
def _render_regex(regex: Regex) -> str:
    return render_test(regex.pattern, "re2")


def _matches(regex: Regex, text: str) -> bool:
    """Match a text against a like_regex pattern. Raises FeatureNotSupported for a pattern that the local engine's
    regular expressions cannot express.
    """
    try:
        return bool(pc.match_substring_regex(pa.array([text]), _render_regex(regex))[0].as_py())
    except pa.ArrowInvalid:
        raise FeatureNotSupported(f"not supported: the regular expression {regex.text}") from None

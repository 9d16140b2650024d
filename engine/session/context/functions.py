"""Functions that read or change the session itself, not rows. They are evaluated when a query is about to be compiled.

`set_config`, `pg_cancel_backend` and similar functions have effects outside of the plan, so no engine can run them. The
arguments of their calls must be constants or parameters; each call is evaluated once, and its value replaces the call
in the plan. `ContextRef`s are the simpler kind: named values of the session that compile as literals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Sequential
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from engine.catalog.authority import CANCEL, TERMINATE, Signal, signal_denied
from engine.catalog.model import acl
from engine.catalog.model.objects import Sequence, Table
from engine.catalog.model.rights import DATABASE_OID
from engine.catalog.snapshot import TEMPORARY
from engine.common import sql_type as st
from engine.common.identifiers import quote_ident
from engine.common.text_hash import hash_text
from engine.pg_catalog import PG_CATALOG
from engine.plan_ir.expr import Call, Const, ContextRef, Expr, Node, ParamRef
from engine.plan_ir.rewrite import expressions, map_expressions, rewrite_expr, rewrite_plan, walk_all
from engine.plan_ir.select_list import has_one_row
from engine.session.context import advisory_functions, privilege_functions
from engine.sql.binder.regnames import is_name, parse_qualified_name, read_name
from engine.sql.functions.registry import registry
from engine.sql.parser.lexical.lexer import Kind, tokenize
from wire.errors import (
    AmbiguousFunction,
    FeatureNotSupported,
    InsufficientPrivilege,
    InternalError,
    InvalidParameterValue,
    InvalidSchemaName,
    ReadOnlySqlTransaction,
    UndefinedColumn,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.session.context.session_state import SessionState

NodeT = TypeVar("NodeT", bound=Node)
Arguments = Sequential[Any]


def _set_config(session: SessionState, arguments: Arguments) -> Any:
    name, value, local = arguments
    session.settings.set(name, value or "", local=bool(local))
    return session.settings.get(name)


def _current_setting(session: SessionState, arguments: Arguments) -> Any:
    try:
        value = session.settings.get(arguments[0])
        session.roles.require_examined(session.settings.canonical_name(arguments[0]))
        return value
    except UndefinedObject:
        if len(arguments) > 1 and arguments[1]:
            return None
        raise


def _current_schemas(session: SessionState, arguments: Arguments) -> Any:
    """Return the effective search path; it contains pg_catalog only if the setting names it, or if implicit schemas are
    requested.
    """
    path = session.search_path()
    named = session.settings.get("search_path")
    return [name for name in path if arguments[0] or name != PG_CATALOG or PG_CATALOG in named]


def _require_may_signal(session: SessionState, pid: int, signal: Signal) -> None:
    """Check that the session may signal another one. Raises InsufficientPrivilege. The user of another member's session
    is unknown here, so only a superuser may end it.
    """
    if session.roles.current.superuser:
        return
    user = next((a.user for a in session.client.activity() if a.pid == pid), None)
    if user is None or not session.roles.may_signal(user):
        raise signal_denied(signal, superuser=user is not None and session.roles.is_superuser(user))


def _cancel(session: SessionState, arguments: Arguments) -> Any:
    _require_may_signal(session, arguments[0], CANCEL)
    return session.client.cancel_backend(arguments[0])


def _terminate(session: SessionState, arguments: Arguments) -> Any:
    _require_may_signal(session, arguments[0], TERMINATE)
    return session.client.terminate_backend(arguments[0])


def _reset_statements(session: SessionState, arguments: Arguments) -> Any:
    """Reset statistics. userid, dbid, queryid: 0 or absent means any (pg_stat_statements.c, entry_reset)."""
    if not session.roles.current.superuser:
        raise InsufficientPrivilege("permission denied for function pg_stat_statements_reset")
    role, database, query = [*arguments, 0, 0, 0][:3]
    found = session.catalog.current().roles.with_oid(role) if role else None
    if database in (0, DATABASE_OID) and (not role or found is not None):
        session.client.reset_statement_statistics(found.name if found is not None else None, query)


def _parse_ident(_session: SessionState, arguments: Arguments) -> Any:
    """Return the parts of a name, folded. Text after the name is an error unless `strict` is false."""
    text = arguments[0]
    *tokens, _end = tokenize(text)
    parts: list[str] = []
    for place, token in enumerate(tokens):
        if place % 2 == 0 and token.kind in (Kind.WORD, Kind.NAME):
            parts.append(token.text)
        elif place % 2 == 0 or token.text != ".":
            break
    else:
        if len(tokens) % 2:
            return parts
    if not parts or len(arguments) < 2 or arguments[1]:
        raise InvalidParameterValue(f'string is not a valid identifier: "{text}"')
    return parts


def _to_object(pg: t.PgType, session: SessionState, arguments: Arguments) -> Any:
    """Return null for an object that does not exist; drivers look up the types of extensions in this way. Syntax errors
    are raised.
    """
    context, _catalog = session.environment.context((), {})
    try:
        return read_name(pg, arguments[0], context, -1) if is_name(pg, arguments[0]) else None
    except (
        UndefinedObject,
        UndefinedTable,
        UndefinedFunction,
        InvalidSchemaName,
        AmbiguousFunction,
        FeatureNotSupported,
    ):
        return None


def _sequence(session: SessionState, oid: int) -> Sequence:
    """Find a sequence by OID. Raises WrongObjectType for another relation."""
    for relation in session.catalog.current().relations.values():
        if relation.oid == oid:
            if isinstance(relation, Sequence):
                return relation
            raise WrongObjectType(f'"{relation.name}" is not a sequence')
    raise InternalError(f"could not open relation with OID {oid}")


def _require_writable(session: SessionState, sequence: Sequence, function: str) -> Sequence:
    if sequence.schema != TEMPORARY and session.settings.get("transaction_read_only") == "on":
        raise ReadOnlySqlTransaction(f"cannot execute {function}() in a read-only transaction")
    return sequence


def _nextval(session: SessionState, arguments: Arguments) -> Any:
    return session.sequences.next(_writable_sequence(session, arguments[0]))


def next_values(session: SessionState, oid: int, rows: int) -> Any:
    """Call nextval for `rows` rows, and return an array. Raises as nextval does."""
    return session.sequences.take(_writable_sequence(session, oid), rows)


def _writable_sequence(session: SessionState, oid: int) -> Sequence:
    """Find a sequence whose values may be taken."""
    sequence = _sequence(session, oid)
    session.authority().require_sequence(sequence, acl.USAGE, acl.UPDATE)
    return _require_writable(session, sequence, "nextval")


def _currval(session: SessionState, arguments: Arguments) -> Any:
    sequence = _sequence(session, arguments[0])
    session.authority().require_sequence(sequence, acl.USAGE, acl.SELECT)
    return session.sequences.current(sequence)


def _lastval(session: SessionState, _arguments: Arguments) -> Any:
    return session.sequences.last()


def _setval(session: SessionState, arguments: Arguments) -> Any:
    called = arguments[2] if len(arguments) > 2 else True
    if arguments[1] is None or called is None:
        return None
    sequence = _sequence(session, arguments[0])
    session.authority().require_sequence(sequence, acl.UPDATE)
    _require_writable(session, sequence, "setval")
    return session.sequences.set(sequence, arguments[1], called)


def _serial_sequence(session: SessionState, arguments: Arguments) -> Any:
    """pg_get_serial_sequence: return the sequence that belongs to a column, by its qualified name."""
    if arguments[1] is None:
        return None
    snapshot, parts = session.catalog.current(), parse_qualified_name(arguments[0])
    table = snapshot.resolve(parts[0] if len(parts) > 1 else None, parts[-1], session.search_path())
    if not isinstance(table, Table):
        raise UndefinedTable(f'relation "{".".join(parts)}" does not exist')
    column = table.column(arguments[1])
    if column is None:
        raise UndefinedColumn(f'column "{arguments[1]}" of relation "{table.name}" does not exist')
    owner = (table.oid, column.number)
    owned = [r for r in snapshot.relations.values() if isinstance(r, Sequence) and r.owner == owner]
    return f"{quote_ident(owned[0].schema)}.{quote_ident(owned[0].name)}" if owned else None


def _notify(session: SessionState, arguments: Arguments) -> Any:
    channel, payload = arguments
    session.client.notify(channel or "", payload or "")
    return ""


def _notifications_waiting(session: SessionState, _arguments: Arguments) -> Any:
    return session.client.notifications_waiting()


def _listening_channels(session: SessionState) -> Sequential[Any]:
    return session.client.listening_channels()


#: All are strict except for set_config's value and pg_notify.
_FUNCTIONS: Final[dict[str, Callable[[SessionState, Arguments], Any]]] = {
    "set_config": _set_config,
    "current_setting": _current_setting,
    "current_schemas": _current_schemas,
    "pg_cancel_backend": _cancel,
    "pg_terminate_backend": _terminate,
    "pg_stat_statements_reset": _reset_statements,
    **{f"to_{pg.name}": partial(_to_object, pg) for pg in t.REG_TYPES},
    "nextval": _nextval,
    "currval": _currval,
    "lastval": _lastval,
    "setval": _setval,
    "pg_get_serial_sequence": _serial_sequence,
    "parse_ident": _parse_ident,
    "pg_notify": _notify,
    "pg_notification_queue_usage": _notifications_waiting,
    **advisory_functions.FUNCTIONS,
    **privilege_functions.FUNCTIONS,
}
_STRICT: Final = frozenset(privilege_functions.FUNCTIONS)
#: Functions that return sets: the elements of an array.
_SETS: Final[dict[str, Callable[[SessionState], Sequential[Any]]]] = {
    "pg_listening_channels": _listening_channels,
}
_EFFECTS: Final = frozenset(
    (
        "set_config",
        "pg_cancel_backend",
        "pg_terminate_backend",
        "pg_stat_statements_reset",
        "nextval",
        "setval",
        "pg_notify",
        *advisory_functions.FUNCTIONS,
    )
)
#: Functions whose side effect is needed once a row; that is once a query only if the query has one row.
_EACH_ROW: Final = frozenset(("nextval", "setval", "pg_notify", *advisory_functions.FUNCTIONS))
_NOT_STRICT: Final = frozenset(("pg_notify",))
_SEQUENCES: Final = frozenset(("nextval", "currval", "lastval", "setval"))
#: Functions that wait for other members. In a select list they are called on a thread that may wait, elsewhere without
#: waiting.
_OF_ALL_MEMBERS: Final = frozenset(("pg_stat_statements_reset",))
#: Functions that may block: on the catalog database, on other members.
BLOCKING: Final = _SEQUENCES | _OF_ALL_MEMBERS


def _is_ours(expr: Expr) -> bool:
    if not isinstance(expr, Call) or expr.function.kind != "function":
        return False
    return expr.function.name in _FUNCTIONS or expr.function.name in _SETS


def _all_expressions(plan: Node) -> list[Expr]:
    return [part for node in walk_all(plan) for expr in expressions(node) for part in expr.walk()]


def uses_session_functions(plan: Node) -> bool:
    """Return whether the plan calls any of these functions."""
    return any(_is_ours(expr) for expr in _all_expressions(plan))


def context_names(plan: Node) -> frozenset[str]:
    """Return the names of the session values that the plan refers to."""
    return frozenset(expr.name for expr in _all_expressions(plan) if isinstance(expr, ContextRef))


def evaluate(plan: NodeT, session: SessionState, parameters: Mapping[int, Any], *, effects: bool = True) -> NodeT:
    """Return the plan with every such call replaced by its value. Without `effects`, a call that has side effects is
    replaced by null. Raises FeatureNotSupported for arguments that are not constant, and the functions' own errors.
    """

    def value(expr: Expr) -> Expr:
        if not isinstance(expr, Call) or not _is_ours(expr):
            return expr
        name = expr.function.name
        if name in _SETS:
            return _elements(expr, _SETS[name](session))
        arguments = [constant(session, expr, argument, parameters) for argument in expr.args]
        if not effects and name in _EFFECTS:
            return Const(expr.type, None)
        return Const(expr.type, call_function(session, name, arguments))

    def in_node(node: Node) -> Node:
        _require_one_row(node)
        return map_expressions(node, lambda expr: rewrite_expr(expr, value))

    rebuilt = rewrite_plan(plan, in_node)
    return rebuilt  # type: ignore[return-value]


def call_function(session: SessionState, name: str, arguments: Arguments) -> Any:
    """Call a function, and return its value. Raises the function's errors."""
    if None in arguments and name in _STRICT:
        return None
    if arguments and arguments[0] is None and name not in _NOT_STRICT:
        return None
    return _FUNCTIONS[name](session, arguments)


def may_be_for_rows(call: Call) -> bool:
    """Return whether a call is made for each row (`engine.session.context.row_calls`) if its arguments are not
    constants.
    """
    return _is_ours(call) and call.function.name in (_EFFECTS | _SEQUENCES)


def awaits_members(call: Call) -> bool:
    """Return whether a call waits for other members."""
    return _is_ours(call) and call.function.name in _OF_ALL_MEMBERS


async def wait(plan: Node, session: SessionState, parameters: Mapping[int, Any]) -> None:
    """Wait for the advisory locks that the plan's calls take. Called before `evaluate`, whose errors about calls are
    raised here too.
    """
    session.locks.forget_awaited()
    for node in walk_all(plan):
        for call in (part for expr in expressions(node) for part in expr.walk() if _is_ours(part)):
            assert isinstance(call, Call)
            if call.function.name in advisory_functions.WAITING:
                _require_one_row(node)
                arguments = [constant(session, call, argument, parameters) for argument in call.args]
                await advisory_functions.wait(session, call.function.name, arguments)


def _elements(call: Call, values: Sequential[Any]) -> Call:
    """Return the call of unnest that produces a set-returning call's rows."""
    rows = registry()
    unnest = next(row for row in rows.functions("unnest") if not rows.is_absent(row))
    return replace(call, function=unnest, args=(Const(st.of(t.array_of(call.type.pg)), list(values)),))


def _require_one_row(node: Node) -> None:
    """Raise FeatureNotSupported for a node that would evaluate for many rows a call that is evaluated once."""
    if has_one_row(node):
        return
    for part in (part for expr in expressions(node) for part in expr.walk()):
        if isinstance(part, Call) and part.function.name in _EACH_ROW and _is_ours(part):
            raise FeatureNotSupported(
                f"not supported: {part.function.name} for each row of a query",
                hint="It can be an item of the outermost select list, in VALUES, and a column's default.",
            )


#: The types to which a session value that is a name may be cast.
_NAMES_OF: Final = (t.TEXT, t.NAME)


def _widens(cast: Call) -> bool:
    return cast.function.kind == "cast" and cast.type.pg is t.INT8 and cast.args[0].type.pg is t.INT4


def is_constant(argument: Expr) -> bool:
    """Return whether `constant` can compute an argument."""
    if isinstance(argument, Const | ParamRef | ContextRef):
        return True
    if not isinstance(argument, Call):
        return False
    named = argument.function.kind == "cast" and argument.type.pg in _NAMES_OF
    return (named or _widens(argument) or argument.function.name == "hashtext") and is_constant(argument.args[0])


def constant(session: SessionState, call: Call, argument: Expr, parameters: Mapping[int, Any]) -> Any:
    """Return the value of a call's argument. Raises FeatureNotSupported for one that depends on rows."""
    match argument:
        case Const():
            return argument.value
        case ParamRef():
            return parameters[argument.index]
        case ContextRef():
            return session.context_value(argument.name)
        case Call() if is_constant(argument):
            value = constant(session, call, argument.args[0], parameters)
            return hash_text(value) if argument.function.name == "hashtext" and value is not None else value
        case _:
            raise FeatureNotSupported(f"not supported: {call.function.name} of something that is not a constant")

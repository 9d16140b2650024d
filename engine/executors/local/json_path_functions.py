"""The jsonb_path_ functions for the local engine: `json_paths` applied to columns.
`engine.sql.functions.json_path_calls` builds the calls.

Source: PostgreSQL 15, section 9.16.2, jsonpath_exec.c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.executors.local import json_documents as documents
from engine.executors.local.distinct_calls import register
from engine.executors.local.json_paths import Search
from wire.errors import InvalidParameterValue, SingletonJsonItemRequired, StatementTooComplex
from wire.types.jsonpath import parse_jsonpath


def _search(document: str, path: str, variables: str, silent: bool, zone: str) -> Search:
    """Begin a search. variables: empty for the operators, for which every variable is null. zone: empty for functions
    that may not use the session's time zone.
    """
    if variables and documents.kind(variables) != "object":
        raise InvalidParameterValue(
            '"vars" argument is not an object',
            detail='Jsonpath parameters should be encoded as key-value pairs of "vars" object.',
        )
    given = documents.read(variables) if variables else None
    return Search(parse_jsonpath(path), documents.read(document), given, silent=silent, zone=zone or None)


def _exists(search: Search, _silent: bool) -> bool | None:
    return search.exists()


def _match(search: Search, silent: bool) -> bool | None:
    found = search.find_items()
    if len(found) == 1 and (found[0] is None or isinstance(found[0], bool)):
        return found[0]
    if not silent:
        raise SingletonJsonItemRequired("single boolean result is expected")
    return None


def _query(search: Search, _silent: bool) -> list[str]:
    return [documents.write(item) for item in search.find_items()]


def _query_array(search: Search, _silent: bool) -> str:
    return documents.write(search.find_items())


def _query_first(search: Search, _silent: bool) -> str | None:
    found = search.find_items()
    return documents.write(found[0]) if found else None


def _with_answer(answer: Callable[[Search, bool], Any]) -> Callable[..., Any]:
    def call(document: str, path: str, variables: str, silent: bool, zone: str) -> Any:
        try:
            return answer(_search(document, path, variables, silent, zone), silent)
        except RecursionError:
            raise StatementTooComplex("stack depth limit exceeded") from None

    return call


_PARAMETERS = ("VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN", "VARCHAR")
register("sluice_jsonb_path_exists", _PARAMETERS, "BOOLEAN", _with_answer(_exists))
register("sluice_jsonb_path_match", _PARAMETERS, "BOOLEAN", _with_answer(_match))
register("sluice_jsonb_path_query", _PARAMETERS, "VARCHAR[]", _with_answer(_query))
register("sluice_jsonb_path_query_array", _PARAMETERS, "VARCHAR", _with_answer(_query_array))
register("sluice_jsonb_path_query_first", _PARAMETERS, "VARCHAR", _with_answer(_query_first))

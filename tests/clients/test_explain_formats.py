"""EXPLAIN's formats: each output is a valid document of its format, and all have the same content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import psycopg
import pytest
import yaml
from support.local_member import local_member

_XML, _JSON = 142, 114
_SPACE = "{http://www.postgresql.org/2009/explain}"


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with local_member(tmp_path_factory.mktemp("explain")) as member, member.connect() as connection:
        connection.execute('create table t (id int, "odd <name>" text)')
        yield connection


@pytest.mark.parametrize(
    ("options", "statement"),
    [
        ("", 'select id, "odd <name>" from t where id < 5 and "odd <name>" <> \'&\' order by 1'),
        ("analyze, ", "select count(*) from t"),
        ("distsql, ", "select id from t"),
        ("", "delete from t where id = 1"),
    ],
)
def test_one_document(connection: psycopg.Connection[tuple[Any, ...]], options: str, statement: str) -> None:
    told = {form: connection.execute(f"explain ({options}format {form}) {statement}".encode()) for form in _FORMATS}
    assert [_type(told[form]) for form in ("json", "xml", "yaml")] == [_JSON, _XML, 25]
    [[document]] = told["json"].fetchall()
    [[text]] = told["yaml"].fetchall()
    [[xml]] = told["xml"].fetchall()
    nodes = list(_nodes(document[0]["Plan"]))
    assert list(_nodes(yaml.safe_load(text)[0]["Plan"])) == nodes
    assert [element.text for element in ElementTree.fromstring(xml).iter(f"{_SPACE}Node-Type")] == nodes
    assert len(nodes) > 1


_FORMATS = ("json", "xml", "yaml")


def _type(cursor: psycopg.Cursor[tuple[Any, ...]]) -> int:
    assert cursor.description is not None
    return cursor.description[0].type_code


def _nodes(plan: dict[str, Any]) -> Iterator[str]:
    yield plan["Node Type"]
    for below in plan.get("Plans", ()):
        yield from _nodes(below)

"""EXPLAIN's document in PostgreSQL's other formats (explain.c: ExplainOpenGroup, ExplainXMLTag, escape_yaml)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Format = Literal["json", "xml", "yaml"]
_SPACE: Final = "http://www.postgresql.org/2009/explain"
_NO_TAG: Final = re.compile(r"[^A-Za-z0-9_.-]")


def format_document(document: str, form: Format) -> str:
    """Convert a JSON document, a list of one object, to another format."""
    if form == "json":
        return document
    (whole,) = msgspec.json.decode(document)
    if form == "yaml":
        # These formats are rare, so only their users pay for the imports.
        import yaml

        return str(yaml.safe_dump([whole], sort_keys=False, allow_unicode=True, width=2**16)).rstrip("\n")
    from xml.etree import ElementTree

    root = ElementTree.Element("explain", xmlns=_SPACE)
    _fill(ElementTree.SubElement(root, "Query"), whole)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _fill(element: Element, value: Any) -> None:
    from xml.etree import ElementTree

    if isinstance(value, Mapping):
        for name, inner in value.items():
            _fill(ElementTree.SubElement(element, _NO_TAG.sub("-", name)), inner)
    elif isinstance(value, list):
        item = "Plan" if element.tag == "Plans" else "Item"
        for inner in value:
            _fill(ElementTree.SubElement(element, item), inner)
    else:
        element.text = str(value).lower() if isinstance(value, bool) else str(value)

# ruff: noqa: SIM905 -- a page of words reads better than a page of quotes
"""PostgreSQL 15's keywords, by the kinds of names that they may still be (appendix C; pg_get_keywords()).

A word that is in none of these sets may be any name. Reserved words may be none, except a column label after AS;
`COLUMN_NAME` words may name tables and columns but no function or type, `TYPE_FUNCTION_NAME` words the other way round.
`AS_LABEL` words need AS before they can be a column label.
"""

from __future__ import annotations

from typing import Final

RESERVED: Final = frozenset(
    """
    all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
    current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct
    do else end except false fetch for foreign from grant group having in initially intersect into lateral leading limit
    localtime localtimestamp not null offset on only or order placing primary references returning select session_user some
    symmetric table then to trailing true union unique user using variadic when where window with
    """.split()
)

COLUMN_NAME: Final = frozenset(
    """
    between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping inout int integer
    interval least national nchar none normalize nullif numeric out overlay position precision real row setof smallint
    substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces
    xmlparse xmlpi xmlroot xmlserialize xmltable
    """.split()
)

TYPE_FUNCTION_NAME: Final = frozenset(
    """
    authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join left like natural
    notnull outer overlaps right similar tablesample verbose
    """.split()
)

AS_LABEL: Final = frozenset(
    """
    array as char character create day except fetch filter for from grant group having hour intersect into isnull limit
    minute month notnull offset on order over overlaps precision returning second to union varying where window with within
    without year
    """.split()
)

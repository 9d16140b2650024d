"""Statements that have an expression in every place where one may stand, and their comparison with PostgreSQL's
answers.

The places are templates: queries (`_SCALAR`, `_AGGREGATE`, `_WINDOW`), a prepared statement (`_PREPARED`), and a script
that creates a table whose default, generated column, check and partial index contain the expression, and changes its
rows (`_CHANGES`). The operands are columns, constants, nulls, aggregates, columns of an outer query, and parameters.
The expressions come from `support.expression_subjects`. To add a place, add a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg

from support.expression_subjects import Subject
from support.local_member import Said, say

#: {e}: the expression over the rows {t}. {constant}, {null}: over constants and typed nulls. {inner}, {outer}: over `i` and `o`,
#: two uses of the rows; {mixed}: its first operand of `o`, the others of `i`. {size}: 0, 1 or 2 computed from {constant}.
_SCALAR: Final = (
    "select ({e})::text, ({e}) is null from {t} order by id",
    "select ({e}) from {t} order by id",
    # CASE branches, COALESCE, array elements; constants and nulls beside columns
    "select ({constant})::text, ({null})::text, case when ({e}) is null then 'n' else ({e})::text end, "
    "coalesce(({e})::text, 'none'), ({e}) is distinct from null, (array[({e}), ({constant}), ({null})])::text from {t} order by id",
    # GROUP BY, HAVING, ROLLUP
    "select ({e})::text from {t} group by {columns} having ({e}) is not null order by 1 nulls last",
    "select ({e})::text, count(*), grouping(({e})) from {t} group by rollup (({e})) order by 3, ({e})",
    # FILTER and arguments of aggregates
    "select count(*) filter (where ({e}) is not null), count(distinct ({e})::text), max(({e})::text), count(({e})) from {t}",
    # scalar subqueries and LATERAL of the row's columns
    "select (select ({e})::text from (values (1)) v(z)), (select ({e}) from (values (id)) v(z) where z > 1)::text from {t} "
    "order by id",
    "select x.v::text, y.v from {t} cross join lateral (select ({e}) as v limit 1) x "
    "left join lateral (values (({e})::text)) y(v) on x.v is not null",
    # PARTITION BY, the order of a window, frame bounds
    "select id, count(*) over (partition by ({e})), rank() over (order by ({e})), last_value(({e})::text) over (order by id) "
    "from {t} order by id",
    "select id, count(*) over (order by id rows between {size} preceding and ({size}) following) from {t} order by id",
    # DISTINCT ON, IN lists, ANY, WHERE, ORDER BY, LIMIT, OFFSET, VALUES
    "select distinct on (({e})) ({e})::text from {t} order by ({e}), id",
    "select ({e}) in (({constant}), ({e})), ({e}) = any (array[({constant})]), ({e})::text in ('q', ({constant})::text), "
    "case ({e}) when ({constant}) then 1 when ({e}) then 2 end from {t} order by id",
    "select id from {t} where ({e}) is not null or ({constant}) is null order by ({e})::text desc nulls last, id limit {size} "
    "offset {size}",
    "select v::text from (values (({constant})), (({null}))) x(v) order by v is null",
    # conditions of joins
    "with t as (select * from {t}) select count(*) from t o left join t i on ({mixed}) is not null",
    "with t as (select * from {t}) select o.id, i.id from t o full join t i on ({outer}) = ({inner}) order by 1, 2",
    # both sides of correlated subqueries
    "with t as (select * from {t}) select id, (select count(*) from t i where ({inner}) is not distinct from ({outer})), "
    "exists (select from t i where ({mixed}) is not null), ({outer})::text in (select ({inner})::text from t i where i.id <> o.id) "
    "from t o order by id",
    "with t as (select * from {t}) select o.id, x.* from t o, lateral (select count(({mixed})), max(({mixed})::text) from t i) x "
    "order by 1",
    # DISTINCT, UNION, columns of subqueries
    "with t as materialized (select * from {t}) select distinct ({e})::text from t order by 1 offset 0",
    "select ({e}) from {t} union select ({constant}) order by 1",
    "select q.v::text from (select ({e}) as v, id from {t}) q where q.v is not null order by id",
)
#: One operand is a constant ({partly}) or null ({missing}), the others are columns.
_ONE_OPERAND: Final = (
    "select ({partly})::text, ({missing})::text, case id when 1 then ({partly}) else ({missing}) end::text from {t} "
    "order by id"
)
#: {maximum}: over aggregates; {running}: over window functions.
_OF_AGGREGATES: Final = (
    "select ({maximum})::text from {t} having ({maximum}) is not null",
    "select q.v::text from (select {maximum} as v, count(*) n from {t}) q where q.v is not null and n > 0",
    "select id % 2, ({maximum})::text from {t} group by id % 2 order by ({maximum}) is null, 1",
    "select id, ({running})::text from {t} order by id",
)
_AGGREGATE: Final = (
    "select ({e})::text, ({e}) is null from {t}",
    "select ({e}) from {t}",
    "select ({e})::text, ({e}) from {t} where false",
    "select id % 2, ({e})::text, case when ({e}) is null then 'n' else ({e})::text end from {t} group by id % 2 "
    "having ({e}) is not null or true order by ({e})::text, 1",
    "select ({e})::text, ({e} filter (where id > 1))::text, ({e} filter (where false))::text, count(*) from {t}",
    "select id, ({e})::text, grouping(id) from {t} group by grouping sets ((id), ()) order by 1 nulls first",
    "select ({constant})::text, ({null})::text from {t}",
    # an aggregate of the outer query in a subquery, and of a correlated subquery's own rows
    "select (select ({qualified})::text from (values (1)) v(z) limit 1) from {t}",
    "with t as (select * from {t}) select id, (select ({inner})::text from t i where i.id <= o.id), "
    "exists (select 1 from t i where i.id < o.id having ({inner}) is null) from t o order by id",
    "with t as (select * from {t}) select o.id, x.v::text from t o "
    "left join lateral (select ({inner}) as v from t i where i.id >= o.id) x on x.v is not null order by 1",
    "with t as (select * from {t}) select id from t o where (select ({inner}) from t i where i.id = o.id) is not null "
    "order by (select ({inner})::text from t i where i.id = o.id), id",
    "with t as (select * from {t}) select count(*) from t i limit (select count(({inner})) from t i)",
    "select v::text from (values ((select ({e}) from {t})), (null)) x(v) order by v is null",
    "select ({e})::text in ('x', ({e})::text), ({e}) is distinct from null, coalesce(({e})::text, 'none') from {t}",
    "select id % 2, rank() over (order by ({e})), count(*) over (partition by ({e})::text) from {t} group by id % 2 order by 1",
    "select q.v::text from (select ({e}) as v from {t} group by id) q order by q.v",
    "select ({e}) from {t} union all select ({e}) from {t} group by id order by 1",
)
#: {in_groups}: with PARTITION BY; {other}: with another order or frame.
_WINDOW: Final = (
    "select id, ({e})::text, ({e}) is null from {t} order by id",
    "select ({e}) from {t} order by id",
    "select id, ({in_groups})::text, ({other})::text, case when ({e}) is null then 'n' else ({in_groups})::text end from {t} "
    "order by ({e}) is null, id",
    "select distinct on (({e})) ({e})::text from {t} order by ({e}), id",
    "select id % 2, count(*) from (select id, ({e}) as v from {t}) q where q.v is not null group by id % 2 order by 1",
    "select q.v::text from (select id, ({e}) as v from {t}) q group by q.v order by 1",
    "with t as (select * from {t}) select o.id, (select string_agg(x.v::text, ',' order by x.id) "
    "from (select id, ({e}) as v from t where id <= o.id) x) from t o order by 1",
    "select o.id, x.v::text from (values (1), (2)) o(id), lateral (select ({e}) as v, id from {t} where t.id <> o.id) x "
    "order by 1, x.id",
    "select ({e})::text in ('x', ({e})::text), coalesce(({e})::text, 'none') from {t} order by id",
    "select id, ({e})::text from {t} where id > 1 order by ({e}), id limit 2",
)
_EQUALITY: Final = (
    "select min(id), count(*) from {t} group by c0 order by 1",
    "select c0::text is null, count(*), grouping(c0), min(id) from {t} group by cube (c0, (id % 2)) order by 4, 3, 2",
    "select distinct on (c0) id, count(*) over (partition by c0), rank() over (order by c0), dense_rank() over (order by c0 desc), "
    "count(*) over (order by c0 range current row), cume_dist() over (order by c0), count(*) over (order by c0 groups 1 preceding) "
    "from {t} order by c0, id",
    "select count(distinct c0), array_length(array_agg(distinct c0), 1), count(distinct (c0, 1)) from {t}",
    "select (mode() within group (order by c0))::text, max(id) filter (where c0 = ({second})), bool_and(c0 >= ({first})) from {t}",
    "select count(*) from (select distinct c0 from {t}) q",
    "select count(*) from (select c0, count(*) from {t} group by 1 having c0 = ({second})) q",
    "with t as (select * from {t}) select o.id, i.id from t o left join t i on o.c0 = i.c0 and o.id <> i.id order by 1, 2",
    "with t as (select * from {t}) select o.id, i.id from t o full join t i on o.c0 = i.c0 and o.id < i.id order by 1, 2",
    "with t as (select * from {t}) select count(*) from t o join t i using (c0)",
    "select id, c0 in (({second}), null), c0 not in (({first}), ({third})), c0 = any (array[({second})]), "
    "c0 <> all (array[({first})]), "
    "case c0 when ({second}) then 1 when ({third}) then 3 end, nullif(c0, ({second}))::text, "
    "c0 is distinct from ({first}), "
    "c0 between ({first}) and ({second}), (c0, id) = (({second}), id), greatest(c0, ({second})) = c0 from {t} order by id",
    "with t as (select * from {t}) select id, (select count(*) from t i where i.c0 = o.c0), "
    "exists (select from t i where i.c0 = o.c0 and i.id <> o.id), c0 in (select c0 from t i where i.id = 2), "
    "c0 not in (select c0 from t i where i.id = 1), c0 >= all (select c0 from t i where i.id < 3), x.n "
    "from t o, lateral (select max(id) n from t i where i.c0 = o.c0) x order by 1",
    "with t as (select * from {t}) select (select count(*) from (select c0 from t union select c0 from t) q), "
    "(select count(*) from (select c0 from t where id = 1 intersect select c0 from t where id = 2) q), "
    "(select count(*) from (select c0 from t except all select c0 from t where id = 2) q)",
    "with recursive r(c0) as (select c0 from {t} where id = 1 union select ({second}) from r) select count(*) from r",
    "select id, lag(id) over (partition by c0 order by id), first_value(id) over (order by c0, id), "
    "ntile(2) over (order by c0, id) from {t} order by c0 desc nulls last, id",
)
_EQUALITY_CHANGES: Final = (
    "drop table if exists d",
    "create table d (id int, c0 {declared_type} unique)",
    "insert into d values (1, {first}), (3, null), (4, {third}) returning id",
    "insert into d values (2, {second}) on conflict (c0) do update set id = excluded.id + 10 returning id, c0::text",
    "insert into d values (5, {second}), (6, {third}), (7, null) on conflict do nothing returning id",
    "update d set id = d.id + 100 from {s} where d.c0 = s.c0 and s.id = 2 returning d.id, s.id",
    "merge into d using (select * from {s} where id in (2, 3)) s on d.c0 = s.c0 when matched then update set id = s.id "
    "when not matched then insert values (s.id + 50, null)",
    "select id, c0::text from d order by id",
    "delete from d using {s} where d.c0 = s.c0 and s.id = 1 returning d.id",
    "select id, c0::text from d order by id",
)
_PREPARED: Final = (
    "deallocate all",
    "prepare p({types}) as select ({parameters})::text, ({parameters}) is null, "
    "(select count(*) from (values (1), (2)) t(x) where ({parameters}) is not null)",
    "execute p({first})",
    "execute p({second})",
    "execute p({nulls})",
)
#: {source}, {target}, {new}: over the rows {s}, the table `d` and `excluded`. {result}: a type that the expression is assigned to.
#: {stored}, {g}: a generated column of it and that column's text, where the expression is immutable; `|` begins such statements.
_CHANGES: Final = (
    "drop table if exists d",
    "create table d (id int, {declared}, r {result} default ({constant}){stored}, check (({e}) is null or ({e})::text <> 'no'))",
    "insert into d (id, {columns}) select id, {columns} from {s} returning id, r::text, {g}({e})::text",
    "insert into d (id, r) values (10, ({constant})), (11, default) returning id, r::text, {g}({e})::text",
    "update d set r = ({e}) where ({e}) is not null or id = 10 returning id, r::text, {g}(select ({e})::text)",
    "|create unique index on d (id) where ({e}) is not null",
    "|insert into d (id, {columns}) values (1, {second}), (20, {first}) on conflict (id) where ({e}) is not null "
    "do update set r = ({new}), {taken} where ({target}) is not null or ({new}) is null returning id, r::text, ({target})::text",
    "merge into d using (select id + 1 as id, {columns} from {s}) s "
    "on d.id = s.id and (({source}) is not null or ({target}) is null) "
    "when matched and ({target}) is not null then update set r = ({source}) when matched then delete "
    "when not matched and ({source}) is not null then insert (id, {columns}, r) values (s.id + 30, {given}, ({source}))",
    "select id, r::text, {g}({e})::text from d order by 1, 2, 3",
    "delete from d where ({e}) is not null and id <> 10 returning id, r::text, {g}({e})::text",
    "select id, r::text, {g}({e})::text from d order by 1, 2, 3",
)
#: An aggregate that rows are inserted of, updated by, merged from, deleted by, and made a table of; `|` begins what needs a key.
_AGGREGATE_CHANGES: Final = (
    "drop table if exists d",
    "create table d (id int, {declared}, r {result})",
    "insert into d (id, {columns}) select id, {columns} from {s} returning id",
    "insert into d (id, r) select id % 2 + 10, ({e}) from {s} group by id % 2 having ({e}) is not null or true "
    "returning id, r::text",
    "insert into d (id, r) values (20, (select ({e}) from {s})), (21, (select ({e}) from {s} where false)) "
    "returning id, r::text, (select ({s_row})::text from {s} where s.id <= d.id)",
    "update d set r = (select ({inner}) from d i where i.id <= d.id) where id < 3 returning id, r::text",
    "update d set r = q.v from (select id, ({e}) as v from {s} group by id) q where q.id = d.id and q.v is not null "
    "returning d.id, r::text, q.v::text",
    "create unique index on d (id)",
    "insert into d (id, {columns}) select 1, {columns} from {s} where id = 1 on conflict (id) do update "
    "set r = (select ({s_row}) from {s} where s.id <= excluded.id) where (select ({s_row}) from {s}) is not null or d.id = 1 "
    "returning id, r::text",
    "merge into d using (select id, ({e}) as v from {s} group by id) q on d.id = q.id + 1 "
    "when matched and q.v is not null then update set r = q.v when matched then delete "
    "when not matched and (q.v is null or q.id > 0) then insert (id, r) values (q.id + 30, q.v)",
    "select id, r::text from d order by 1",
    "delete from d where (select ({inner}) from d i where i.id = d.id) is not null returning id, r::text, "
    "(select ({s_row})::text from {s})",
    "drop table if exists k",
    "create table k as select id % 2 as g, ({e}) as v, count(*) as n from {s} group by id % 2",
    "select g, v::text, n, pg_typeof(v)::text from k order by g",
)
_WINDOW_CHANGES: Final = (
    "drop table if exists d",
    "create table d (id int, {declared}, r {result})",
    "insert into d (id, {columns}) select id, {columns} from {s} returning id",
    "insert into d (id, r) select id + 10, ({e}) from {s} returning id, r::text",
    "update d set r = q.v from (select id, ({e}) as v from {s}) q where q.id = d.id returning d.id, r::text, q.v::text",
    "update d set r = (select q.v from (select id, ({in_groups}) as v from d where id < 10) q where q.id = d.id) where id < 10 "
    "returning id, r::text",
    "merge into d using (select id, ({other}) as v from {s}) q on d.id = q.id + 1 when matched and q.v is not null "
    "then update set r = q.v when not matched then insert (id, r) values (q.id + 30, q.v)",
    "select id, r::text from d order by 1",
    "delete from d using (select id, ({e}) as v from {s}) q where d.id = q.id and q.v is null returning d.id, r::text",
    "drop table if exists k",
    "create table k as select id, ({e}) as v from {s}",
    "select id, v::text, pg_typeof(v)::text from k order by id",
)
_PREPARED_AGGREGATE: Final = (
    "deallocate all",
    "prepare p({types}) as select ({parameters})::text, count(*), ({parameters} filter (where id > 1))::text "
    "from (values (1), (2), (3)) t(id)",
    "execute p({first})",
    "execute p({second})",
    "execute p({nulls})",
)
_PREPARED_WINDOW: Final = (
    "deallocate all",
    "prepare p({types}) as select id, ({parameters})::text from (values (1), (2), (3)) t(id) order by id",
    "execute p({first})",
    "execute p({second})",
    "execute p({nulls})",
)
#: What a result is assigned to, where not to its own type without a modifier: numerics without one have no scale of their own here.
_ASSIGNED: Final = {"numeric": "numeric(30, 8)", "bit": "varbit", "character": "varchar", "numeric[]": "text"}


#: What has other trailing zeros on purpose (docs/compatibility.md), by the reason's name there.
_PRINTED_DIGITS: Final = {
    "numeric quotients; power, exp, ln, log, sqrt of numerics": re.compile(
        r"\b(avg|stddev\w*|var_\w*|variance|power|exp|ln|log|sqrt)\(| / "
    ),
    "a numeric column without a scale": re.compile(r"from k order by"),
}
_TRAILING_ZEROS: Final = re.compile(r"(\.\d*?)0+(?!\d)")


def questions(subject: Subject, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Generate queries that have the expression in every place of a query; the first one is the plainest."""
    parts = _parts(subject, rows)
    templates = {"scalar": _SCALAR, "aggregate": _AGGREGATE, "window": _WINDOW, "equality": _EQUALITY}[subject.kind]
    yield from (template.format_map(parts) for template in templates)
    if subject.kind == "scalar":
        for place in range(len(subject.types)):
            yield _ONE_OPERAND.format(
                t=parts["t"],
                partly=subject.of(_replaced(subject.columns, place, subject.constants(subject.first)[place])),
                missing=subject.of(_replaced(subject.columns, place, f"null::{subject.types[place]}")),
            )
    if subject.has_max:
        over = {"maximum": subject.over("max(c{})"), "running": subject.over("max(c{}) over (order by id)")}
        yield from (template.format_map({**parts, **over}) for template in _OF_AGGREGATES)


def _replaced(columns: Sequence[str], place: int, operand: str) -> list[str]:
    return [operand if at == place else column for at, column in enumerate(columns)]


def _parts(subject: Subject, rows: Sequence[Sequence[str]]) -> Mapping[str, str]:
    e, constant = subject.expression, subject.of(subject.constants(subject.first))
    parts = {
        "e": e, "t": subject.relation(rows), "constant": constant, "columns": ", ".join(subject.columns),
        "null": subject.of([f"null::{name}" for name in subject.types]),
        "inner": subject.of_relation("i"), "outer": subject.of_relation("o"), "qualified": subject.of_relation("t"),
        "s_row": subject.of_relation("s"),
        "mixed": subject.of([f"{'o' if place == 0 else 'i'}.{column}" for place, column in enumerate(subject.columns)]),
        "size": f"coalesce(length(({constant})::text), 0) % 3",
    }  # fmt: skip
    if subject.kind == "equality":
        first, second, third = (
            f"{value}::{subject.types[0]}" for value in (*subject.first, *subject.second, subject.other)
        )
        parts |= {
            "first": first, "second": second, "third": third, "declared_type": subject.types[0],
            "s": subject.relation(rows, "s"),
        }  # fmt: skip
    if subject.kind == "window":
        parts["in_groups"] = e.replace("order by id", "partition by id % 2 order by id", 1)
        parts["other"] = (
            e.replace("rows between", "groups between") if "rows" in e else e.replace("by id", "by id desc", 1)
        )
    return parts


def prepared_script(subject: Subject) -> Iterator[str]:
    """Generate the statements that prepare and execute the expression over parameters."""
    templates = {"scalar": _PREPARED, "aggregate": _PREPARED_AGGREGATE, "window": _PREPARED_WINDOW}[subject.kind]
    parts = {
        "types": ", ".join(subject.types), "parameters": subject.of([f"${place + 1}" for place in range(len(subject.types))]),
        "first": ", ".join(subject.first), "second": ", ".join(subject.second), "nulls": ", ".join(["null"] * len(subject.types)),
    }  # fmt: skip
    yield from (template.format_map(parts) for template in templates)


def change_script(subject: Subject, result: str, rows: Sequence[Sequence[str]], *, generated: bool) -> Iterator[str]:
    """Generate statements that define a table by a scalar expression and change its rows. result: a type that the
    expression can be assigned to. generated: whether the table has a stored generated column of the expression, which
    is then immutable.
    """
    parts = {
        **_parts(subject, rows), "result": result, "declared": subject.declared, "s": subject.relation(rows, "s"),
        "stored": f", g {result} generated always as ({subject.expression}) stored" if generated else "",
        "g": "g::text, " if generated else "", "source": subject.of_relation("s"), "target": subject.of_relation("d"),
        "new": subject.of_relation("excluded"), "given": ", ".join(f"s.{column}" for column in subject.columns),
        "taken": ", ".join(f"{column} = excluded.{column}" for column in subject.columns),
        "first": ", ".join(subject.constants(subject.first)), "second": ", ".join(subject.constants(subject.second)),
    }  # fmt: skip
    for template in _CHANGES:
        if generated or not template.startswith("|"):
            yield template.lstrip("|").format_map(parts)


def aggregated_change_script(subject: Subject, result: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Generate statements that change a table's rows by an aggregate or a window function. result: as in
    `change_script`.
    """
    parts = {**_parts(subject, rows), "result": result, "declared": subject.declared, "s": subject.relation(rows, "s")}
    templates = _AGGREGATE_CHANGES if subject.kind == "aggregate" else _WINDOW_CHANGES
    yield from (template.format_map(parts) for template in templates)


def _comparable(statement: str, said: Said) -> tuple[str | None, list[str]]:
    """Return the command tag and the rows, in their order if the statement specifies one."""
    rows = [repr(row) for row in said.rows or ()]
    return said.tag, rows if _is_ordered(statement) else sorted(rows)


def _is_ordered(statement: str) -> bool:
    """Return whether the statement has an ORDER BY outside of parentheses."""
    rest, last = re.sub(r"'[^']*'", "", statement), ""
    while rest != last:
        rest, last = re.sub(r"\([^()]*\)", "", rest), rest
    return " order by " in rest


class Comparison:
    """Runs statements on both servers and compares the answers. A statement that we refuse as not supported (0A000) is
    not a difference. Any other error where PostgreSQL returns rows is one. Where PostgreSQL reports an error, only an
    internal error of ours is a difference, because the first error may be that of another row.

    compared, refused: the number of statements that PostgreSQL answered, and those of them that we refuse, with the
    message.
    """

    def __init__(self, ours: psycopg.Connection[Any], theirs: psycopg.Connection[Any]) -> None:
        self._ours, self._theirs = ours, theirs
        for connection in (ours, theirs):
            # Statements that the driver prepares by itself are lost with DEALLOCATE ALL.
            connection.prepare_threshold = None
        self.compared = 0
        self.refused: list[tuple[str, str | None]] = []
        self._expression = ""

    def differences(self, subject: Subject) -> Iterator[str]:
        self._expression = subject.expression
        for rows in subject.lists:
            first, *others = questions(subject, rows)
            if say(self._theirs, first).error is None:
                refused = len(self.refused)
                yield from self.told(first)
                if len(self.refused) == refused:
                    yield from self._elsewhere(subject, rows, others)
                return

    def _elsewhere(self, subject: Subject, rows: Sequence[Sequence[str]], others: Sequence[str]) -> Iterator[str]:
        yield from (told for question in others for told in self.told(question))
        if subject.kind != "equality":
            yield from (told for statement in prepared_script(subject) for told in self.told(statement))
            yield from self._script(self._changes(subject, rows))
        if subject.kind == "equality":
            yield from self._script(template.format_map(_parts(subject, rows)) for template in _EQUALITY_CHANGES)

    def _changes(self, subject: Subject, rows: Sequence[Sequence[str]]) -> Iterator[str]:
        result = self._result(subject, rows)
        if subject.kind != "scalar":
            return aggregated_change_script(subject, result, rows)
        return change_script(subject, result, rows, generated=self._can_generate(subject, result))

    def _script(self, statements: Iterable[str]) -> Iterator[str]:
        """Compare the statements of a script up to the first difference or refusal, after which the servers' states
        differ.
        """
        for statement in statements:
            refused = len(self.refused)
            told = list(self.told(statement))
            yield from told
            if told or len(self.refused) > refused:
                return

    def _result(self, subject: Subject, rows: Sequence[Sequence[str]]) -> str:
        asked = say(self._theirs, f"select pg_typeof({subject.expression})::text from {subject.relation(rows)} limit 1")
        assert asked.rows is not None
        name = str(asked.rows[0][0])
        return _ASSIGNED.get(name, name)

    def _can_generate(self, subject: Subject, result: str) -> bool:
        say(self._theirs, "drop table if exists d")
        stored = f"g {result} generated always as ({subject.expression}) stored"
        return say(self._theirs, f"create table d ({subject.declared}, {stored})").error is None

    def told(self, statement: str) -> Iterator[str]:
        """Run a statement on both servers and yield the difference of the answers in words, if there is one."""
        expected, told = say(self._theirs, statement), say(self._ours, statement)
        if expected.error is not None:
            if told.error is not None and (told.error[0] or "").startswith("XX"):
                yield f"{statement}\n    is {told.error[:2]}, PostgreSQL's {expected.error[:2]}"
            return
        self.compared += 1
        if told.error is not None and told.error[0] == "0A000":
            self.refused.append((statement, told.error[1]))
        elif told.error is not None or not self._is_same(statement, told, expected):
            answer = told.error[:2] if told.error is not None else (told.tag, told.rows)
            yield f"{statement}\n    is {answer}, PostgreSQL's {(expected.tag, expected.rows)}"

    def _is_same(self, statement: str, told: Said, expected: Said) -> bool:
        got, want = _comparable(statement, told), _comparable(statement, expected)
        asked = f"{self._expression} {statement}"
        if got != want and any(pattern.search(asked) for pattern in _PRINTED_DIGITS.values()):
            got, want = ((tag, [_without_zeros(row) for row in rows]) for tag, rows in (got, want))
        return got == want


def _without_zeros(row: str) -> str:
    """Return a row without the trailing zeros of its numbers."""
    return re.sub(r"\.(?!\d)", "", _TRAILING_ZEROS.sub(r"\1", re.sub(r"\b0E-\d+", "0", row)))

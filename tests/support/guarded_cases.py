"""Statements in which a condition prevents an error for a row, in every place: PostgreSQL answers all of them without
an error.

The rows are those of `support.error_cases`. A guard is a CASE, an AND, an OR, a COALESCE or a NULLIF. It prevents a
division by zero, an overflow, or a cast of a text that is not a number. To add a guard or a place, add a line.
"""

from __future__ import annotations

from typing import Final

#: Conditions and values that would raise an error for some row if a part of them did not prevent it.
_GUARDED_CONDITIONS: Final = (
    "z <> 0 and 10 / z > 0",
    "z = 0 or 10 / z > 0",
    "not (z = 0 or 10 / z > 0)",
    "(z <> 0 and 10 / z > 0) is true",
    "z is not null and z <> 0 and 10 / z > 0",
    "i > 0 and (z <> 0 and 10 / z > 0)",
    "i > 100 or z = 0 or 10 / z > 0 or b",
    "x ~ '^[0-9]+$' and x::int > 1",
    "x !~ '^[0-9]+$' or x::int > 1",
    "f > 0 and ln(f) > 0",
    "coalesce(f, 0) <= 0 or ln(f) > 0",
    "n <> 0 and 1 / n > 0",
    "isfinite(d) and d - date '2000-01-01' > 0",
    "z <> 0 and (select 10 / z) > 0",
    "z <> 0 and exists (select 1 where 10 / z > 0)",
    "z <> 0 and 10 / z in (select k from (values (1), (5)) v(k))",
    "z <> 0 and 10 / z = any (array[1, 5])",
    "(z <> 0 and 10 / z > 0) = (i > 0)",
    "z <> 0 and 10 / z between 1 and 5",
    "coalesce(z = 0 or 10 / z > 0, false)",
    "case when z = 0 then false else 10 / z > 0 end",
    "case z when 0 then true else 10 / z > 0 end",
    "case when z <> 0 and 10 / z > 0 then true end",
    "(z = 0 or 10 / z > 0) and (m = 2147483647 or m + 1 > 0)",
    "m < 2147483647 and m + 1 > i",
    "length(x) >= 2 and substr(x, 1, length(x) - 2) = 'a'",
    "i between 32 and 126 and chr(i) = 'A'",
    "cardinality(a) > 0 and (a[1] <> 0 and 10 / a[1] > 0)",
    "y = '' or y = 'x,y' or y::date > date '2000-01-01' or true",
    "z <> 0 and (10 / z, i) > (1, 1)",
    "(select z <> 0 and 10 / z > 0)",
    "nullif(z, 0) is not null and 10 / z > 0",
    "abs(i) < 100 and (abs(s::int) > 100 or s * i::int2 < 10000)",
    "z <> 0 and not (10 / z > 0)",
    "z <> 0 and case when 10 / z > 0 then b end",
)
_GUARDED_VALUES: Final = (
    "case when z <> 0 then 10 / z end",
    "case when z = 0 then -1 else 10 / z end",
    "case z when 0 then -1 else 10 / z end",
    "coalesce(case when z = 0 then 0 end, 10 / z)",
    "10 / nullif(z, 0)",
    "case when x ~ '^[0-9]+$' then x::int else 0 end",
    "coalesce(nullif(x, x)::int, i)",
    "case when f > 0 then ln(f) end",
    "coalesce(i, 1 / z)",
    "case when z <> 0 then (select 10 / z) end",
    "case when z <> 0 then (select max(10 / z + k) from (values (1), (2)) v(k)) end",
    "case when n <> 0 then round(1 / n, 2) end",
    "case when isfinite(d) then d - date '2000-01-01' end",
    "case when m < 2147483647 then m + 1 end",
    "case when z <> 0 then 1 else 10 / (z + 1) end",
    "case when z = 0 then array[0] else array[10 / z] end",
    "case when z <> 0 then case when 10 / z > 1 then i else 10 / z end end",
    "greatest(case when z <> 0 then 10 / z end, i)",
    "case when z <> 0 then 10 / z when i / (z + 1) > 0 then 1 end",
    "case when z = 0 then 'none' else (10 / z)::text end",
    "coalesce((select 1 where z = 0), 10 / z)",
    "case when a[1] <> 0 then 10 / a[1] end",
)
_GUARD_PLACES: Final = (
    "select id, {e} from edge",
    "select id, ({e})::text from edge where i is not null",
    "select id from edge where ({e}) is not null",
    "select {e}, count(*) from edge group by {e}",
    "select count(*) from edge group by ({e}) having ({e}) is not null",
    "select count(*) filter (where ({e}) is not null), count({e}), max(({e})::text) from edge",
    "select distinct {e} from edge",
    "select id from edge order by {e}, id",
    "select distinct on ({e}) id from edge order by ({e}), id",
    "select o.id, v.k from edge o left join (values (1), (2)) v(k) on ({e}) is not null",
    "select o.id, v.k from edge o join (values (1), (2)) v(k) on ({e}) is not null and k < id",
    "select edge.id, w.v from edge, lateral (select {e} as v) w",
    "select q.id, q.v from (select id, {e} as v from edge) q where v is not null",
    "select q.v from (select id, {e} as v from edge offset 0) q where q.id > 1",
    "select id, rank() over (order by {e}), count(*) over (partition by {e}) from edge",
    "select id from edge o where exists (select 1 from (values (1), (2)) v(k) where ({e}) is null)",
    "select id, (select count(*) from (values (1), (2)) v(k) where ({e}) is not null) from edge",
    "select id, (select {e} from (values (1)) v(k)) from edge",
    "with w as (select {e} as v, id from edge) select id, v from w where id < 4",
    "with w as materialized (select {e} as v, id from edge) select v, count(*) from w group by v",
    "select {e} from edge union select {e} from edge",
    "select array_agg({e} order by id) from edge",
    "select string_agg(({e})::text, ',' order by id) from edge",
    "select id in (select id from edge where ({e}) is not null) from edge",
    "select id, ({e}) is null, ({e}) is not distinct from ({e}) from edge",
    "select coalesce(({e})::text, 'none') from edge",
    "select case when ({e}) is null then 1 end from edge",
    "select count(*) from edge group by grouping sets ((({e})), ())",
    "update edge set x = x where ({e}) is null returning id, {e}",
    "insert into edge_log select id, ({e})::text from edge returning id, v",
    "update edge_log l set v = ({e})::text from edge where l.id = edge.id and ({e}) is not null returning l.id, v",
    "merge into edge_log l using (select *, ({e}) as q from edge) s on l.id = s.id when matched and q is not null "
    "then update set v = q::text when matched then delete",
    "delete from edge_log l using edge where edge.id = l.id and ({e}) is null returning l.id",
    "delete from edge_log returning id",
)
_CONDITION_PLACES: Final = (
    "select id from edge where {e}",
    "select id from edge where not ({e})",
    "select id from edge where ({e}) and id < 4",
    "select o.id, v.k from edge o left join (values (1), (2)) v(k) on {e}",
    "select o.id, v.k from edge o full join (values (1)) v(k) on id = k and ({e})",
    "select count(*) filter (where {e}) from edge",
    "select bool_and({e}), bool_or({e}), every({e}) from edge",
    "select id from edge where case when {e} then true end",
    "select id from edge o where exists (select 1 where {e})",
    "select id, not ({e}), ({e}) or b, ({e}) and b from edge",
    "delete from edge where ({e}) and id > 100",
    "select count(*) from edge where (b or {e})",
    "select id from (select * from edge offset 0) q where {e}",
    "select id from edge where ({e}) or id = 3",
    "select id from edge where ({e}) is not true",
    "select id from edge where ({e}) = true",
    "select v.k from (values (1), (2), (3)) v(k) join edge on k = id and ({e})",
    "select id from edge where {e} order by id limit 2",
)


def guarded_statements() -> list[str]:
    """Return statements that have each guarded condition and each guarded value in each place."""
    placed = [(value, place) for value in (*_GUARDED_VALUES, *_GUARDED_CONDITIONS) for place in _GUARD_PLACES]
    placed += [(condition, place) for condition in _GUARDED_CONDITIONS for place in _CONDITION_PLACES]
    return [place.replace("{e}", value) for value, place in placed]

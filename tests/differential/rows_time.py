# ruff: noqa: E501 - a line is a block's values
"""Questions about dates, times and intervals, as in `rows_text`. The session's time zone has daylight saving time, so
an hour is skipped and one is repeated each year.
"""

from __future__ import annotations

from typing import Final

_FIELDS = "century day decade dow doy epoch hour isodow isoyear microseconds millennium milliseconds minute month quarter second week year"
_ZONED = "timezone timezone_hour timezone_minute"
_TRUNCATED = "microseconds milliseconds second minute hour day week month quarter year decade century millennium"
_OF_TIME = "hour minute second milliseconds microseconds epoch"
_OF_INTERVAL = "century day decade epoch hour microseconds millennium milliseconds minute month quarter second year"
_OF_DATE = "century day decade dow doy epoch isodow isoyear julian millennium month quarter week year"
_FORMAT = (
    "YYYY-MM-DD HH24:MI:SS.US HH12 HH AM a.m. SSSS MS FF3 Month Mon MONTH mon FMMonth Day DY FMday D ID DDD IDDD DD FMDD MM FMMM "
    'WW IW W CC J Q RM rm Y,YYY YYY YY Y IYYY IY BC ad DDth FMDDTH "lit YYYY" TZH OF'
)


def _each(template: str, words: str) -> str:
    return "\n".join(template.format(word) for word in words.split())


_MOMENTS = "2021-01-03 12:34:56.789012 | 1999-12-31 23:59:59.999999 | 2020-02-29 00:00:00 | 2020-03-08 02:30:00 | 2020-11-01 01:30:00 | 0987-11-22 23:00:01"

BOTH: Final = f"""
timestamp | {_MOMENTS}
{_each("extract({} from x)", _FIELDS)}
{_each("date_part('{}', x)", _FIELDS + " julian")}
{_each("date_trunc('{}', x)", _TRUNCATED)}
date_bin('15 minutes', x, '2001-01-01')
date_bin('1 month', x, '2001-01-01')
date_bin('-1 day', x, '2001-01-01')
x + interval '1 month'
x + interval '-1 month 3 days 04:05:06.5'
interval '1 day' + x
x - interval '1 year 1 day'
x - timestamp '2020-01-31 10:00'
timestamp '2020-01-31 10:00' - x
age(x, timestamp '2020-01-31 10:00')
age(timestamp '2020-01-31 10:00', x)
x at time zone 'Europe/Paris'
x at time zone 'America/New_York'
x at time zone 'PST'
x at time zone '+05:30'
x at time zone interval '-2 hours'
isfinite(x)
to_char(x, '{_FORMAT}')
to_char(x, 'Dy, DD Mon YYYY HH24:MI:SS')
(x, x + interval '1 day') overlaps (timestamp '2021-01-03', timestamp '2021-01-05')
(x, interval '1 day') overlaps (timestamp '2020-03-08', timestamp '2020-03-09')
x::date + 1
to_json(x)

timestamptz | {" | ".join(moment + "+00" for moment in _MOMENTS.split(" | "))} | 2020-11-01 04:30:00+00 | 2020-11-01 03:30:00+00
{_each("extract({} from x)", _FIELDS + " " + _ZONED)}
{_each("date_trunc('{}', x)", _TRUNCATED)}
date_trunc('day', x, 'Asia/Tokyo')
date_trunc('hour', x, 'Asia/Kolkata')
date_bin('1 day 06:00', x, '2001-01-01+00')
x + interval '1 month'
x + interval '1 day'
x + interval '24 hours'
x - interval '1 day 1 hour'
x - timestamptz '2020-01-31 10:00+00'
age(x, timestamptz '2020-01-31 10:00+00')
x at time zone 'Europe/Paris'
x at time zone 'America/New_York'
x at time zone 'EST'
x at time zone 'UTC'
x at time zone interval '3 hours'
to_char(x, '{_FORMAT}')
to_json(x)

date | 2021-01-03 | 2000-12-31 | 2020-02-29 | 1066-10-14
{_each("extract({} from x)", _OF_DATE)}
date_part('hour', x)
date_trunc('month', x)
x + 1
x - 31
x - date '2020-01-01'
x + interval '1 month'
x - interval '1 year'
x + time '10:00'
isfinite(x)
to_char(x, 'FMMonth DD, YYYY')
age(x, date '2020-01-31')
to_json(x)

time | 00:00:00 | 12:34:56.789012 | 23:59:59.999999
{_each("extract({} from x)", _OF_TIME)}
x + interval '15 hours'
x - interval '1 day 13 hours'
x - time '10:00'
x + date '2020-01-31'
(x, x + interval '1 hour') overlaps (time '12:00', time '13:00')

interval | 0 | 1 year 14 months 3 days 04:05:06.789 | -1 year -2 months -3 days -04:05:06.789 | 27 hours | 35 days | 1 month -1 hour | -30 days 2 hours
{_each("extract({} from x)", _OF_INTERVAL)}
{_each("date_part('{}', x)", _OF_INTERVAL)}
{_each("date_trunc('{}', x)", "hour day month quarter year decade")}
x + interval '1 day'
x - interval '1 month'
- x
x * 1.5
2 * x
x / 3
x / 0
x * 'NaN'::float8
justify_hours(x)
justify_days(x)
justify_interval(x)
to_char(x, 'HH24:MI:SS')
to_char(x, 'YYYY MM DD HH12 MI SS MS US')
timestamp '2020-01-31' + x
timestamptz '2020-03-07 12:00+00' + x
to_json(x)

integer | 2020 | 1 | 0 | -44 | 12 | 29 | 2147483647
make_date(x, 2, 29)
make_date(2020, x, 1)
make_date(2020, 2, x)
make_time(x, 30, 15.5)
make_time(10, x, 0)
make_timestamp(2020, 2, x, 10, 30, 59.75)
make_interval(days => x)
date '2020-01-01' + x % 1000

float8 | 0 | 1.5 | -1.5 | 1577836800.123456 | 1e20 | NaN
to_timestamp(x)

text | 2020-03-05 | 2020-13-01 | 2020-02-30 | 1999-1-7
to_date(x, 'YYYY-MM-DD')

text | 05 Mar 2020 02:07 PM | 1 jan 1999 12:00 am
to_timestamp(x, 'DD Mon YYYY HH12:MI AM')
"""

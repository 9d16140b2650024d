"""Values of every type that clients may receive, as SQL expressions that any PostgreSQL evaluates."""

from __future__ import annotations

from typing import Final

#: Type name -> what goes between the quotes of `'...'::type`.
VALUES: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("true", "false"),
    "int2": ("0", "-32768", "32767"),
    "int4": ("0", "-2147483648", "2147483647"),
    "int8": ("0", "-9223372036854775808", "9223372036854775807"),
    "float4": ("0", "1.5", "-3.4e38", "1e-45", "Infinity", "-Infinity", "0.1"),
    "float8": ("0", "1.5", "-1.7e308", "5e-324", "Infinity", "-Infinity", "0.1"),
    "numeric": ("0", "1.50", "-12345678901234567890.123456789", "0.0001", "10000", "1000000000000", "-0.00001"),
    "numeric(10,2)": ("0", "99999999.99", "-1.5"),
    "text": ("", "plain", "grüße 🎉", "a\tb\nc", "back\\slash"),
    "varchar": ("", "plain"),
    "varchar(3)": ("abc",),
    "bpchar": ("x",),
    "char(5)": ("abc", ""),
    "bytea": ("", "\\x00ff10", "\\x6162"),
    "date": ("2024-02-29", "0001-01-01", "9999-12-31", "1970-01-01"),
    "time": ("00:00:00", "23:59:59.999999", "12:30:00.5"),
    "timetz": ("12:30:00+02", "23:59:59.123456-05:30"),
    "timestamp": ("2024-02-29 12:34:56.789", "1999-12-31 23:59:59.999999", "0001-01-01 00:00:00"),
    "timestamptz": ("2024-02-29 12:34:56.789+00", "1999-12-31 23:59:59.999999+05:30"),
    "interval": ("1 day", "-3 days 04:05:06.789", "00:00:00.000001", "49 hours"),
    "uuid": ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"),
    "json": ('{"a": [1, 2.50, null], "b" : "x"}', "null", '"text"', "[]"),
    "jsonb": ('{"b": "x", "a": [1, 2.50, null]}', "null", "12.0", "{}"),
    "jsonpath": ("strict $.a[*] ? (@.b > 1)",),
    "tsvector": ("b:1A,2 a", "'c d':3"),
    "tsquery": ("a & (b:A | !c:*)",),
    "int4range": ("[1,5]", "empty", "(,3)"),
    "int4multirange": ("{}", "{[1,5],[8,)}"),
    "nummultirange": ("{[1.50,2),(3,4]}",),
    "datemultirange": ("{[2024-02-29,2024-03-05],(,2000-01-01)}",),
    "tstzmultirange": ("{[2024-02-29 12:34:56.789+00,2024-03-01 00:00:00+00)}",),
    "bool[]": ("{t,f,NULL}",),
    "int2[]": ("{1,-2}",),
    "int4[]": ("{}", "{1,2,NULL}", "{{1,2},{3,4}}"),
    "int8[]": ("{9223372036854775807}",),
    "float4[]": ("{1.5,NULL}",),
    "float8[]": ("{0.1,Infinity}",),
    "numeric[]": ("{1.50,0.001,NULL}",),
    "text[]": ("{}", '{a,NULL,"","with \\"quotes\\" and, comma"}', "{{a,b},{c,d}}"),
    "varchar[]": ("{a,b}",),
    "bytea[]": ('{"\\\\x00ff",NULL}',),
    "date[]": ("{2024-02-29,NULL}",),
    "time[]": ("{12:30:00}",),
    "timetz[]": ("{12:30:00+02}",),
    "timestamp[]": ('{"2024-02-29 12:34:56.789"}',),
    "timestamptz[]": ('{"2024-02-29 12:34:56.789+00"}',),
    "interval[]": ('{"1 day 02:00:00",NULL}',),
    "uuid[]": ("{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",),
    "json[]": ('{"{\\"a\\": 1}",NULL}',),
    "jsonb[]": ('{"{\\"a\\": 1}",NULL}',),
}


def expressions() -> list[tuple[str, str]]:
    """(type, expression), NULL of every type included."""
    given = [(name, f"{quoted(value)}::{name}") for name, values in VALUES.items() for value in values]
    return given + [(name, f"null::{name}") for name in VALUES]


def quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"

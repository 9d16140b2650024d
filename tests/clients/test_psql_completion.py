"""psql's tab completion, which mostly queries the server: it is the same for a member and for PostgreSQL 15."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from support.browsing_ground import browsed
from support.packages import needs
from support.postgres_server import PostgresServer
from support.psql_terminal import completions

pytestmark = [
    pytest.mark.postgres,
    needs("psql"),
]

#: One query of psql's each, at least; a beginning ends where Tab would be pressed.
_BEGINNINGS: Final = (
    # relations of each kind
    "SELECT * FROM cu", "SELECT * FROM ", "SELECT * FROM shop.", "SELECT * FROM shop.s", 'SELECT * FROM "Odd Names".',
    'SELECT * FROM "Odd Names"."M', 'SELECT * FROM "Odd', 'select * from "Odd Names".u',
    "SELECT * FROM pg_catalog.pg_cl", "SELECT * FROM pg_stat_u", "SELECT * FROM information_schema.ta",
    "SELECT * FROM customers JOIN shop.it", "TABLE ch", "SELECT * FROM nothing_of_the_kind", "INSERT INTO ",
    "INSERT INTO shop.", "UPDATE ", "UPDATE shop.", "DELETE FROM cu", "TRUNCATE TABLE ", "COPY ", "COPY shop.",
    "\\copy cu", "\\copy shop.", "LOCK TABLE ", "MERGE INTO cu", "VACUUM ", "ANALYZE shop.", "CLUSTER ",
    "REFRESH MATERIALIZED VIEW shop.", "REINDEX TABLE ", "REINDEX INDEX shop.", "REINDEX SCHEMA ", "DROP TABLE ",
    "DROP TABLE shop.", "DROP VIEW ", "DROP MATERIALIZED VIEW shop.", "DROP INDEX shop.", "DROP SEQUENCE shop.",
    "DROP SCHEMA ", "DROP FOREIGN TABLE ", "ALTER TABLE ", "ALTER VIEW ", "ALTER INDEX shop.", "ALTER SEQUENCE shop.",
    "ALTER SCHEMA ", "ALTER MATERIALIZED VIEW shop.", "CREATE INDEX ON shop.", "CREATE TABLE t (LIKE shop.",
    "CREATE TABLE t PARTITION OF ",
    # columns
    "UPDATE customers SET ", "UPDATE shop.items SET s", 'UPDATE "Odd Names"."Mixed Case" SET ',
    "INSERT INTO customers (", "INSERT INTO shop.items (", "ALTER TABLE customers ALTER ",
    "ALTER TABLE customers ALTER COLUMN n", "ALTER TABLE customers DROP COLUMN ", "ALTER TABLE customers RENAME ",
    "ALTER TABLE shop.items RENAME COLUMN pr", "ANALYZE customers (", "VACUUM customers (",
    "CREATE INDEX ON shop.items (", "ALTER TABLE customers ADD FOREIGN KEY (",
    "ALTER TABLE shop.sales ADD PRIMARY KEY (", "DELETE FROM customers WHERE ", "SELECT * FROM customers WHERE ",
    "SELECT * FROM customers ORDER BY ", "COMMENT ON COLUMN customers.", "COMMENT ON COLUMN shop.items.",
    "ALTER TABLE cheap RENAME ", "COPY customers (", "ALTER TYPE shop.address RENAME ATTRIBUTE ",
    # constraints, triggers, rules
    "ALTER TABLE shop.items DROP CONSTRAINT ", "ALTER TABLE shop.items RENAME CONSTRAINT ",
    "ALTER TABLE shop.sales VALIDATE CONSTRAINT ", "ALTER TABLE customers ADD ",
    "ALTER TABLE shop.items ADD UNIQUE USING INDEX ", "ALTER TABLE customers CLUSTER ON ", "COMMENT ON CONSTRAINT ",
    "COMMENT ON CONSTRAINT items_dear ON ", "SET CONSTRAINTS ", "SET CONSTRAINTS shop.", "DROP TRIGGER ", "DROP RULE ",
    "DROP POLICY ", "ALTER TABLE customers DISABLE TRIGGER ", "ALTER TABLE shop.items REPLICA IDENTITY USING INDEX ",
    "ALTER TABLE customers INHERIT ", "ALTER TABLE customers OF ", "ALTER TABLE customers SET TABLESPACE ",
    # types and functions
    "DROP TYPE shop.", "DROP TYPE m", "DROP DOMAIN ", "DROP DOMAIN shop.", "ALTER DOMAIN shop.",
    "ALTER DOMAIN shop.positive DROP CONSTRAINT ", "ALTER TYPE shop.", "ALTER TYPE shop.mood RENAME VALUE ",
    "ALTER TYPE shop.mood ADD VALUE 'x' BEFORE ", "CREATE TABLE t (x shop.",
    "ALTER TABLE customers ALTER COLUMN name TYPE shop.", "ALTER TABLE customers ADD COLUMN x int",
    "CREATE TABLE t (x tim", "CAST (1 AS num", "DROP FUNCTION pg_get_vi", "ALTER FUNCTION shop.", "DROP FUNCTION abs(",
    "DROP AGGREGATE regr_a", "DROP PROCEDURE ", "DROP ROUTINE pg_get_viewdef(", "CALL ", "SELECT pg_get_indexd",
    "CREATE OPERATOR CLASS x FOR TYPE shop.", "DROP OPERATOR CLASS int4",
    "CREATE TRIGGER x AFTER INSERT ON shop.items EXECUTE FUNCTION pg_cancel",
    # roles and privileges
    "GRANT SELECT ON ", "GRANT SELECT ON shop.", "GRANT SELECT ON TABLE cu", "GRANT SELECT ON ALL TABLES IN SCHEMA ",
    "GRANT ", "GRANT SELECT ON customers TO ", "GRANT SELECT ON customers TO browsed",
    "REVOKE SELECT ON customers FROM ", "GRANT USAGE ON SCHEMA ", "GRANT browsed_reader TO ",
    "GRANT EXECUTE ON FUNCTION pg_get_vi", "GRANT USAGE ON TYPE shop.", "GRANT USAGE ON SEQUENCE shop.",
    "GRANT CONNECT ON DATABASE slu", "SET ROLE ", "SET SESSION AUTHORIZATION ", "ALTER ROLE ", "ALTER USER browsed_w",
    "DROP ROLE browsed", "DROP OWNED BY ", "REASSIGN OWNED BY ", "ALTER TABLE customers OWNER TO ",
    "CREATE SCHEMA AUTHORIZATION ", "ALTER DEFAULT PRIVILEGES FOR ROLE ", "ALTER DEFAULT PRIVILEGES IN SCHEMA ",
    "ALTER DATABASE slu", "CREATE ROLE x IN ROLE ",
    # settings
    "SET search", "SET ", "SET work_", "SET LOCAL enable_h", "SET search_path TO ", "SET search_path = ",
    "SET TimeZone TO Europe/B", "SET client_encoding TO UTF", "SET DateStyle TO ", "SET client_min_messages TO ",
    "SET IntervalStyle TO ", "SET bytea_output TO ", "SET default_transaction_isolation TO ",
    "SET standard_conforming_strings TO ", "SHOW ", "SHOW extra", "RESET ", "RESET std", "RESET search",
    "ALTER ROLE browsed_reader SET work_", "ALTER DATABASE sluice SET enable_n", "ALTER SYSTEM SET max_conn",
    "\\dconfig enable_m", "\\encoding LATIN1", "SET constraint_exclusion TO ", "SET xmloption TO ",
    # other objects
    "COMMENT ON TABLE ", "COMMENT ON VIEW ", "COMMENT ON INDEX shop.", "COMMENT ON SCHEMA s", "COMMENT ON TYPE shop.",
    "COMMENT ON DATABASE ", "COMMENT ON FUNCTION pg_get_vi", "CREATE EXTENSION ", "DROP EXTENSION x",
    "ALTER EXTENSION x", "DROP LANGUAGE ", "DROP SERVER ", "CREATE USER MAPPING FOR ", "DROP PUBLICATION ",
    "DROP SUBSCRIPTION ", "DROP STATISTICS ", "DROP COLLATION ", "DROP CONVERSION iso_8859_1_to",
    "DROP TEXT SEARCH CONFIGURATION ", "DROP TEXT SEARCH DICTIONARY e", "DROP TABLESPACE ", "DROP ACCESS METHOD ",
    "DROP EVENT TRIGGER ", "DROP FOREIGN DATA WRAPPER ", "CREATE TABLE t (x int) USING ",
    "CREATE INDEX ON customers USING ", "CREATE INDEX ON customers (name COLLATE ", "CREATE DATABASE x TEMPLATE ",
    "DROP DATABASE slu", "IMPORT FOREIGN SCHEMA x FROM SERVER ", "ALTER OPERATOR FAMILY ", "SECURITY LABEL ON TABLE ",
    "CREATE PUBLICATION p FOR TABLE ", "CREATE STATISTICS s ON a FROM ", "LISTEN ", "NOTIFY ", "UNLISTEN ",
    "DECLARE c CURSOR FOR SELECT * FROM shop.", "FETCH ", "CLOSE ", "EXECUTE ", "DEALLOCATE ",
    "EXPLAIN SELECT * FROM cu", "PREPARE p AS SELECT * FROM cu", "CREATE VIEW v AS SELECT * FROM cu",
    "SELECT * FROM customers TABLESAMPLE ", "CREATE SEQUENCE x OWNED BY shop.",
    # backslash commands
    "\\d ", "\\d shop.", "\\d cu", '\\d "Odd Names".', "\\dt ", "\\dt shop.", "\\dv ", "\\dm shop.", "\\di ",
    "\\di shop.", "\\ds shop.", "\\dE ", "\\dn ", "\\dn s", "\\df pg_get_v", "\\df shop.", "\\da regr_a", "\\dT shop.",
    "\\dT m", "\\dD shop.", "\\du ", "\\dg brow", "\\dp shop.", "\\dp cu", "\\z ", "\\l slu", "\\c slu", "\\db ",
    "\\dA ", "\\dAc ", "\\dAo btree int4", "\\des ", "\\dew ", "\\dF e", "\\dFd e", "\\dFp ", "\\dFt ", "\\dL", "\\dP ",
    "\\dRp ", "\\dRs ", "\\dX ", "\\dx ", "\\dy ", "\\sf pg_get_view", "\\ef pg_get_view", "\\sv ch", "\\ev shop.",
    "\\ddp s", "\\drds brow", "\\password brow", "\\unse", "\\h CREATE T",
)  # fmt: skip


# -- what differs on purpose (docs/compatibility.md), and nothing else ---------------------------------------------------

#: Sluice's own schema and settings, and those of PostgreSQL's extensions that a member has without loading them.
_OURS: Final = re.compile(r"(sluice|auto_explain|pg_stat_statements)(\.\w*)?|cursor_buffer_size")
#: What PostgreSQL has and Sluice does not, by beginning: names that are not offered.
_NOT_HERE: Final = {
    **dict.fromkeys(("SET ", "SHOW ", "RESET "), re.compile(r"\w+")),
    "ALTER DATABASE sluice SET enable_n": re.compile("enable_nestloop"),
    "\\dconfig enable_m": re.compile(r"enable_\w+"),
    "SET constraint_exclusion TO ": re.compile(r"DEFAULT|off|partition|\"on\""),
    **dict.fromkeys(("COMMENT ON DATABASE ", "CREATE DATABASE x TEMPLATE "), re.compile(r"postgres|template\d")),
    "CREATE EXTENSION ": re.compile(r"[\w\"-]+"),
    "DROP LANGUAGE ": re.compile("plpgsql"),
    "\\dx ": re.compile("plpgsql"),
    "DROP COLLATION ": re.compile(r"\"[\w.-]+\"|ucs_basic|unicode"),
}
#: Of TOAST.
_TOAST: Final = "pg_toast"


def _added(beginning: str, told: str) -> list[str]:
    """The words that stand where the beginning's last one was."""
    last = beginning[beginning.rfind(" ") + 1 :]
    return told.removeprefix(beginning.removesuffix(last)).split()


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    with browsed(tmp_path_factory.mktemp("completion"), postgres) as (here, there):
        yield completions(here.dsn, _BEGINNINGS), completions(there.dsn, _BEGINNINGS)


@pytest.mark.table
@pytest.mark.parametrize("beginning", _BEGINNINGS)
def test_completes(both: tuple[dict[str, str], dict[str, str]], beginning: str) -> None:
    ours, theirs = (_added(beginning, told[beginning]) for told in both)
    named = [word for word in ours if not _OURS.fullmatch(word) or word in theirs]
    left_out = _NOT_HERE.get(beginning)
    assert named == [w for w in theirs if w != _TOAST and (w in named or not left_out or not left_out.fullmatch(w))]

"""PostgreSQL's type vocabulary: OIDs, names, lengths, categories, arrays, type modifiers.

This is the one table of types that the codecs (`wire.pg.values`), the binder (`engine.sql`) and the system catalog
share. A row says what a type *is* to a client. `wire.types.carriers` says how its values travel as Arrow between the
engine and the wire, and `engine.sql.trees.storage_types` what Spark and DuckDB store for it.

User-defined types (`wire.types.user_types`) are PgTypes too, made from their definitions in the catalog. A process has
one object for each definition, so all types are compared by identity; a changed definition is another object with the
same OID.

Sources: PostgreSQL 15 `pg_type`; the categories of chapter 10 (type conversion).
"""

from __future__ import annotations

from typing import Final

from wire.dataclass import dataclass
from wire.types import interval_modifiers


@dataclass(frozen=True, slots=True)
class Domain:
    """The definition of a domain. under: its base type, which may be a domain too; typmod: the base type's modifier.
    checks: names and conditions, in which VALUE is the value. schema: the domain's schema.
    """

    schema: str
    under: PgType
    typmod: int = -1
    not_null: bool = False
    default: str | None = None
    checks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a composite type. type: may be a domain. number: its attnum, which it keeps when others are
    dropped.
    """

    name: str
    type: PgType
    typmod: int
    number: int

    @property
    def field(self) -> str:
        """The attribute's name in carriers, engines and files, which does not change when other attributes are added or
        dropped.
        """
        return f"f{self.number - 1}"


@dataclass(frozen=True, slots=True, eq=False)
class PgType:
    """One row of pg_type.

    oid, name: as in pg_type (`int4`, not `integer`).
    length: typlen in bytes; -1 for variable length, -2 for C strings.
    category: typcategory, one letter (chapter 10, table 53.65).
    preferred: typispreferred.
    element: OID of the element type of a true array, else 0.
    array: OID of the array type over this one, else 0.
    sql_name: the name that format_type prints (`integer`).
    carried: the built-in type as which values travel and are stored, in every engine, carrier and file; None: as
        itself. Comparing these values compares the type's values. The form that a client sees is the type's own.
    labels: an enum's labels, each with the number that carries it, in the enum's order; else empty.
    element_type, array_type: of user-defined types, which are not in `BY_OID`.
    attributes: a composite type's, in their order; its category is C.
    domain: a domain's definition. Expressions never have a domain's type, but its base type (`base_of`): columns and
        casts are declared with the domain, and parameters are described with it.
    """

    oid: int
    name: str
    length: int
    category: str
    preferred: bool = False
    element: int = 0
    array: int = 0
    sql_name: str = ""
    carried: PgType | None = None
    labels: tuple[tuple[int, str], ...] = ()
    element_type: PgType | None = None
    array_type: PgType | None = None
    domain: Domain | None = None
    attributes: tuple[Attribute, ...] = ()

    @property
    def is_row(self) -> bool:
        """Whether values have fields: those of a composite type, and records."""
        return self.category == "C" or self.oid == 2249

    def field(self, index: int) -> str:
        """Return the name of a field of a row in carriers, engines and files."""
        return self.attributes[index].field if self.category == "C" else f"f{index}"

    @property
    def is_array(self) -> bool:
        return self.element != 0 and self.category == "A"

    def __hash__(self) -> int:
        # Types are keys of nearly every dictionary; the OID identifies them.
        return self.oid

    def __repr__(self) -> str:
        return f"<{self.name}>"


_SCALARS: Final = (
    # oid, name, typlen, category, preferred, array oid, sql name
    (16, "bool", 1, "B", True, 1000, "boolean"),
    (17, "bytea", -1, "U", False, 1001, "bytea"),
    (18, "char", 1, "Z", False, 1002, '"char"'),
    (19, "name", 64, "S", False, 1003, "name"),
    (20, "int8", 8, "N", False, 1016, "bigint"),
    (21, "int2", 2, "N", False, 1005, "smallint"),
    (23, "int4", 4, "N", False, 1007, "integer"),
    (24, "regproc", 4, "N", False, 1008, "regproc"),
    (25, "text", -1, "S", True, 1009, "text"),
    (26, "oid", 4, "N", True, 1028, "oid"),
    (28, "xid", 4, "U", False, 1011, "xid"),
    (29, "cid", 4, "U", False, 1012, "cid"),
    (114, "json", -1, "U", False, 199, "json"),
    (194, "pg_node_tree", -1, "Z", False, 0, "pg_node_tree"),
    (700, "float4", 4, "N", False, 1021, "real"),
    (701, "float8", 8, "N", True, 1022, "double precision"),
    (705, "unknown", -2, "X", False, 0, "unknown"),
    (1042, "bpchar", -1, "S", False, 1014, "character"),
    (1043, "varchar", -1, "S", False, 1015, "character varying"),
    (1082, "date", 4, "D", False, 1182, "date"),
    (1083, "time", 8, "D", False, 1183, "time without time zone"),
    (1114, "timestamp", 8, "D", False, 1115, "timestamp without time zone"),
    (1184, "timestamptz", 8, "D", True, 1185, "timestamp with time zone"),
    (1186, "interval", 16, "T", True, 1187, "interval"),
    (1266, "timetz", 12, "D", False, 1270, "time with time zone"),
    (1700, "numeric", -1, "N", False, 1231, "numeric"),
    (2202, "regprocedure", 4, "N", False, 2207, "regprocedure"),
    (2203, "regoper", 4, "N", False, 2208, "regoper"),
    (2204, "regoperator", 4, "N", False, 2209, "regoperator"),
    (2205, "regclass", 4, "N", False, 2210, "regclass"),
    (2206, "regtype", 4, "N", False, 2211, "regtype"),
    (2249, "record", -1, "P", False, 2287, "record"),
    (2278, "void", 4, "P", False, 0, "void"),
    (2950, "uuid", 16, "U", False, 2951, "uuid"),
    (3734, "regconfig", 4, "N", False, 3735, "regconfig"),
    (3769, "regdictionary", 4, "N", False, 3770, "regdictionary"),
    (3802, "jsonb", -1, "U", False, 3807, "jsonb"),
    (4089, "regnamespace", 4, "N", False, 4090, "regnamespace"),
    (4096, "regrole", 4, "N", False, 4097, "regrole"),
    (4191, "regcollation", 4, "N", False, 4192, "regcollation"),
)

#: As above, with the name of the type that carries it.
_CARRIED: Final = (
    (27, "tid", 6, "U", False, 1010, "tid", "text"),
    (142, "xml", -1, "U", False, 143, "xml", "text"),
    (600, "point", 16, "G", False, 1017, "point", "text"),
    (601, "lseg", 32, "G", False, 1018, "lseg", "text"),
    (602, "path", -1, "G", False, 1019, "path", "text"),
    (603, "box", 32, "G", False, 1020, "box", "text"),
    (604, "polygon", -1, "G", False, 1027, "polygon", "text"),
    (628, "line", 24, "G", False, 629, "line", "text"),
    (650, "cidr", -1, "I", False, 651, "cidr", "bytea"),
    (718, "circle", 24, "G", False, 719, "circle", "text"),
    (774, "macaddr8", 8, "U", False, 775, "macaddr8", "text"),
    (790, "money", 8, "N", False, 791, "money", "int8"),
    (829, "macaddr", 6, "U", False, 1040, "macaddr", "text"),
    (869, "inet", -1, "I", True, 1041, "inet", "bytea"),
    (1033, "aclitem", 12, "U", False, 1034, "aclitem", "text"),
    (1560, "bit", -1, "V", False, 1561, "bit", "text"),
    (1562, "varbit", -1, "V", True, 1563, "bit varying", "text"),
    (1790, "refcursor", -1, "U", False, 2201, "refcursor", "text"),
    (3220, "pg_lsn", 8, "U", False, 3221, "pg_lsn", "int8"),
    (3904, "int4range", -1, "R", False, 3905, "int4range", "text"),
    (3906, "numrange", -1, "R", False, 3907, "numrange", "text"),
    (3908, "tsrange", -1, "R", False, 3909, "tsrange", "text"),
    (3910, "tstzrange", -1, "R", False, 3911, "tstzrange", "text"),
    (3912, "daterange", -1, "R", False, 3913, "daterange", "text"),
    (3926, "int8range", -1, "R", False, 3927, "int8range", "text"),
    (3614, "tsvector", -1, "U", False, 3643, "tsvector", "text"),
    (3615, "tsquery", -1, "U", False, 3645, "tsquery", "text"),
    (4072, "jsonpath", -1, "U", False, 4073, "jsonpath", "text"),
    (4451, "int4multirange", -1, "R", False, 6150, "int4multirange", "text"),
    (4532, "nummultirange", -1, "R", False, 6151, "nummultirange", "text"),
    (4533, "tsmultirange", -1, "R", False, 6152, "tsmultirange", "text"),
    (4534, "tstzmultirange", -1, "R", False, 6153, "tstzmultirange", "text"),
    (4535, "datemultirange", -1, "R", False, 6155, "datemultirange", "text"),
    (4536, "int8multirange", -1, "R", False, 6157, "int8multirange", "text"),
    (5069, "xid8", 8, "U", False, 271, "xid8", "int8"),
)

_PSEUDO: Final = (
    (269, "table_am_handler", 4, "P", "table_am_handler"),
    (325, "index_am_handler", 4, "P", "index_am_handler"),
    (2275, "cstring", -2, "P", "cstring"),
    (2276, "any", 4, "P", '"any"'),
    (2277, "anyarray", -1, "P", "anyarray"),
    (2279, "trigger", 4, "P", "trigger"),
    (2280, "language_handler", 4, "P", "language_handler"),
    (2281, "internal", 8, "P", "internal"),
    (2283, "anyelement", 4, "P", "anyelement"),
    (3500, "anyenum", 4, "P", "anyenum"),
    (3831, "anyrange", -1, "P", "anyrange"),
    (2776, "anynonarray", 4, "P", "anynonarray"),
    (3115, "fdw_handler", 4, "P", "fdw_handler"),
    (3310, "tsm_handler", 4, "P", "tsm_handler"),
    (3838, "event_trigger", 4, "P", "event_trigger"),
    (4537, "anymultirange", -1, "P", "anymultirange"),
    (5077, "anycompatible", 4, "P", "anycompatible"),
    (5078, "anycompatiblearray", -1, "P", "anycompatiblearray"),
    (5079, "anycompatiblenonarray", 4, "P", "anycompatiblenonarray"),
)


def _build() -> dict[int, PgType]:
    by_oid: dict[int, PgType] = {}
    for oid, name, length, category, preferred, array, sql_name in _SCALARS:
        by_oid[oid] = PgType(oid, name, length, category, preferred, 0, array, sql_name)
        if array:
            by_oid[array] = PgType(array, f"_{name}", -1, "A", False, oid, 0, f"{sql_name}[]")
    by_name = {typ.name: typ for typ in by_oid.values()}
    for oid, name, length, category, preferred, array, sql_name, carried in _CARRIED:
        by_oid[oid] = PgType(oid, name, length, category, preferred, 0, array, sql_name, by_name[carried])
        by_oid[array] = PgType(array, f"_{name}", -1, "A", False, oid, 0, f"{sql_name}[]")
    for oid, name, length, category, sql_name in _PSEUDO:
        by_oid[oid] = PgType(oid, name, length, category, False, 0, 0, sql_name)
    # int2vector and oidvector are arrays to clients but not true arrays (typcategory A, typlen -1, fixed lower bound 0).
    by_oid[22] = PgType(22, "int2vector", -1, "A", False, 21, 1006, "int2vector")
    by_oid[30] = PgType(30, "oidvector", -1, "A", False, 26, 1013, "oidvector")
    return by_oid


BY_OID: Final[dict[int, PgType]] = _build()
BY_NAME: Final[dict[str, PgType]] = {t.name: t for t in BY_OID.values()}

BOOL, BYTEA, CHAR, NAME = BY_OID[16], BY_OID[17], BY_OID[18], BY_OID[19]
INT8, INT2, INT4, TEXT, OID = BY_OID[20], BY_OID[21], BY_OID[23], BY_OID[25], BY_OID[26]
JSON, JSONB, JSONPATH, UUID = BY_OID[114], BY_OID[3802], BY_OID[4072], BY_OID[2950]
FLOAT4, FLOAT8, NUMERIC = BY_OID[700], BY_OID[701], BY_OID[1700]
UNKNOWN, BPCHAR, VARCHAR = BY_OID[705], BY_OID[1042], BY_OID[1043]
DATE, TIME, TIMETZ = BY_OID[1082], BY_OID[1083], BY_OID[1266]
TIMESTAMP, TIMESTAMPTZ, INTERVAL = BY_OID[1114], BY_OID[1184], BY_OID[1186]
REGCLASS, REGTYPE, REGPROC, REGNAMESPACE = BY_OID[2205], BY_OID[2206], BY_OID[24], BY_OID[4089]
REGPROCEDURE, REGOPER, REGOPERATOR = BY_OID[2202], BY_OID[2203], BY_OID[2204]
REGROLE, REGCOLLATION, REGCONFIG, REGDICTIONARY = BY_OID[4096], BY_OID[4191], BY_OID[3734], BY_OID[3769]
XID, CID, PG_NODE_TREE = BY_OID[28], BY_OID[29], BY_OID[194]
TID, XID8, PG_LSN = BY_OID[27], BY_OID[5069], BY_OID[3220]
XML, MONEY, REFCURSOR, BIT, VARBIT = BY_OID[142], BY_OID[790], BY_OID[1790], BY_OID[1560], BY_OID[1562]
POINT, LSEG, PATH, BOX, POLYGON = BY_OID[600], BY_OID[601], BY_OID[602], BY_OID[603], BY_OID[604]
LINE, CIRCLE, ACLITEM = BY_OID[628], BY_OID[718], BY_OID[1033]
TSVECTOR, TSQUERY = BY_OID[3614], BY_OID[3615]
INET, CIDR, MACADDR, MACADDR8 = BY_OID[869], BY_OID[650], BY_OID[829], BY_OID[774]
INT4RANGE, INT8RANGE, NUMRANGE = BY_OID[3904], BY_OID[3926], BY_OID[3906]
TSRANGE, TSTZRANGE, DATERANGE = BY_OID[3908], BY_OID[3910], BY_OID[3912]
INT4MULTIRANGE, INT8MULTIRANGE, NUMMULTIRANGE = BY_OID[4451], BY_OID[4536], BY_OID[4532]
TSMULTIRANGE, TSTZMULTIRANGE, DATEMULTIRANGE = BY_OID[4533], BY_OID[4534], BY_OID[4535]
RECORD, RECORDS, VOID = BY_OID[2249], BY_OID[2287], BY_OID[2278]
ANY, ANYARRAY, ANYELEMENT, ANYNONARRAY = BY_OID[2276], BY_OID[2277], BY_OID[2283], BY_OID[2776]
ANYENUM, ANYRANGE, ANYMULTIRANGE = BY_OID[3500], BY_OID[3831], BY_OID[4537]
ANYCOMPATIBLE, ANYCOMPATIBLEARRAY, ANYCOMPATIBLENONARRAY = BY_OID[5077], BY_OID[5078], BY_OID[5079]

#: OID types that are printed as names of objects.
REG_TYPES: Final = (
    REGPROC, REGPROCEDURE, REGOPER, REGOPERATOR, REGCLASS, REGTYPE, REGNAMESPACE, REGROLE, REGCOLLATION, REGCONFIG,
    REGDICTIONARY,
)  # fmt: skip
OID_TYPES: Final = (OID, *REG_TYPES)
#: All types that are unsigned 32-bit numbers.
UNSIGNED: Final = (*OID_TYPES, XID, CID)
#: Integer types by which the catalog is queried.
WHOLE_NUMBERS: Final = frozenset((INT2, INT4, INT8, *UNSIGNED))

#: Names that SQL accepts besides pg_type's own (PostgreSQL's grammar, table 8.1).
ALIASES: Final[dict[str, PgType]] = {
    "boolean": BOOL,
    "smallint": INT2,
    "integer": INT4,
    "int": INT4,
    "bigint": INT8,
    "real": FLOAT4,
    "double precision": FLOAT8,
    "decimal": NUMERIC,
    "character": BPCHAR,
    "character varying": VARCHAR,
    "bit varying": VARBIT,
    "time without time zone": TIME,
    "time with time zone": TIMETZ,
    "timestamp without time zone": TIMESTAMP,
    "timestamp with time zone": TIMESTAMPTZ,
}


def array_of(element: PgType) -> PgType:
    """Return the array type over `element`; an array's array is itself (PostgreSQL's arrays carry their dimensions)."""
    if element.is_array:
        return element
    return element.array_type or BY_OID[element.array]


def element_of(array: PgType) -> PgType:
    return array.element_type or BY_OID[array.element]


def delimiter_of(element: PgType) -> str:
    """Return typdelim: the delimiter between the elements of an array's text."""
    return ";" if element is BOX else ","


#: The lowest bit of the number of dimensions in an array's modifier; the bits below are the elements' modifier plus
#: one.
DIMENSIONS_SHIFT: Final = 27


def array_modifier(typmod: int, dimensions: int) -> int:
    """Return the modifier that the catalog keeps for a column of arrays: its elements' modifier, and the declared
    number of dimensions.
    """
    return typmod if dimensions == 1 else (dimensions - 1 << DIMENSIONS_SHIFT) + typmod + 1


def split_array_modifier(modifier: int) -> tuple[int, int]:
    """Return (typmod, dimensions) of an `array_modifier`. An interval's modifier needs the same bits, so it always has
    one dimension.
    """
    further = max(modifier, 0) >> DIMENSIONS_SHIFT
    return (modifier, 1) if further == 0 else (modifier - (further << DIMENSIONS_SHIFT) - 1, further + 1)


def base_of(typ: PgType) -> PgType:
    """Return the base type of a domain, below all domains under it (getBaseType); any other type is returned unchanged."""
    while typ.domain is not None:
        typ = typ.domain.under
    return typ


def base_typmod(domain: PgType) -> int:
    """Return the modifier of a domain's base type; at most one domain on the way has one."""
    typmod, typ = -1, domain
    while typ.domain is not None and typmod == -1:
        typmod, typ = typ.domain.typmod, typ.domain.under
    return typmod


def attribute_type(attribute: Attribute) -> tuple[PgType, int]:
    """Return the base type of an attribute, below any domain, and the modifier of that type."""
    if attribute.type.domain is None:
        return attribute.type, attribute.typmod
    return base_of(attribute.type), base_typmod(attribute.type)


def numeric_typmod(precision: int, scale: int) -> int:
    """Return the type modifier of numeric(precision, scale) (PostgreSQL: numeric.c, make_numeric_typmod)."""
    return ((precision << 16) | (scale & 0x7FF)) + 4


def numeric_precision_scale(typmod: int) -> tuple[int, int]:
    """Return (precision, scale) of a numeric type modifier that is not -1; the scale may be negative."""
    packed = typmod - 4
    scale = packed & 0x7FF
    return (packed >> 16) & 0xFFFF, (scale ^ 0x400) - 0x400


def type_name(typ: PgType) -> str:
    """Return a type's name as regtype shows it: format_type() without a modifier, which calls bpchar `character`."""
    if typ.is_array and typ.oid not in (22, 30):
        return type_name(element_of(typ)) + "[]"
    return typ.sql_name


def format_type(typ: PgType, typmod: int = -1) -> str:
    """Return a type as PostgreSQL prints it in messages and from format_type(): `numeric(15,2)`, `character(25)`,
    `bigint[]`.
    """
    if typ.is_array and typ.oid not in (22, 30):
        element, dimensions = element_of(typ), 1
        if element is not INTERVAL:
            typmod, dimensions = split_array_modifier(typmod)
        return format_type(element, typmod) + "[]" * dimensions
    if typ is BPCHAR and typmod == -1:
        return "bpchar"
    if typmod == -1:
        return typ.sql_name
    if typ in (BPCHAR, VARCHAR):
        return f"{typ.sql_name}({typmod - 4})"
    if typ in (BIT, VARBIT):
        return f"{'bit' if typ is BIT else 'bit varying'}({typmod})"
    if typ is NUMERIC:
        return "numeric({},{})".format(*numeric_precision_scale(typmod))
    if typ in (TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ):
        head, _, tail = typ.sql_name.partition(" ")
        return f"{head}({typmod}) {tail}"
    return f"{typ.sql_name}{interval_modifiers.modifier_text(typmod)}" if typ is INTERVAL else typ.sql_name

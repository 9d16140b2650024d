"""The catalogs whose rows are PostgreSQL's own (`engine.catalog.builtin`): functions, operators, casts, operator classes."""

from __future__ import annotations

from typing import Final

from engine.catalog.system.declared import SystemRelation

SYSTEM: Final = (
    SystemRelation(
        1255,
        "pg_proc",
        "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, procost float4, prorows "
        "float4, provariadic oid, prosupport regproc, prokind char, prosecdef bool, proleakproof bool, "
        "proisstrict bool, proretset bool, provolatile char, proparallel char, pronargs int2, "
        "pronargdefaults int2, prorettype oid, proargtypes oidvector, proallargtypes oid[], proargmodes "
        "char[], proargnames text[], proargdefaults text, protrftypes oid[], prosrc text, probin text, "
        "prosqlbody text, proconfig text[], proacl text[]",
        stored=True,
    ),
    SystemRelation(
        2617,
        "pg_operator",
        "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprcanmerge bool, "
        "oprcanhash bool, oprleft oid, oprright oid, oprresult oid, oprcom oid, oprnegate oid, oprcode "
        "regproc, oprrest regproc, oprjoin regproc",
        stored=True,
    ),
    SystemRelation(
        2616,
        "pg_opclass",
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, opcintype "
        "oid, opcdefault bool, opckeytype oid",
        stored=True,
    ),
    SystemRelation(
        2753,
        "pg_opfamily",
        "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid",
        stored=True,
    ),
    SystemRelation(
        2605,
        "pg_cast",
        "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char",
        stored=True,
    ),
    SystemRelation(
        2602,
        "pg_amop",
        "oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, amoppurpose "
        "char, amopopr oid, amopmethod oid, amopsortfamily oid",
        stored=True,
    ),
    SystemRelation(
        2603,
        "pg_amproc",
        "oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum int2, amproc regproc",
        stored=True,
    ),
    SystemRelation(
        2600,
        "pg_aggregate",
        "aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc, aggfinalfn regproc, "
        "aggcombinefn regproc, aggserialfn regproc, aggdeserialfn regproc, aggmtransfn regproc, "
        "aggminvtransfn regproc, aggmfinalfn regproc, aggfinalextra bool, aggmfinalextra bool, "
        "aggfinalmodify char, aggmfinalmodify char, aggsortop oid, aggtranstype oid, aggtransspace int4, "
        "aggmtranstype oid, aggmtransspace int4, agginitval text, aggminitval text",
        stored=True,
    ),
    SystemRelation(
        2612,
        "pg_language",
        "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, "
        "laninline oid, lanvalidator oid, lanacl text[]",
        stored=True,
    ),
)

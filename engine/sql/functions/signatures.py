"""PostgreSQL's own functions and operators by signature, so that those that are missing here still take part in
resolution.

The function that a call resolves to depends on all candidates: if `jsonb || jsonb` were merely absent, `jsonb || null`
would silently become text. A signature of PostgreSQL's that has no row of its own therefore gets one without templates
(`missing_signatures`): choosing it is 0A000, and a call that PostgreSQL calls ambiguous or unknown is so here. Types
that Sluice lacks occur as names with a category, which is all that resolution needs.

The notation: `+ int4,int4=int4 int4=int4` is a symbol with its binary and prefix operators. A function's signature is
`(arguments)=result`, marked `!` aggregate, `@` ordered-set aggregate, `~` window function, `*` variadic, `?n` for n
defaults. Neighbours: `registry` subtracts the rows that exist.

Source: PostgreSQL 15, pg_operator, pg_proc and pg_type, without the functions that implement types and indexes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, cast

from engine.plan_ir.expr import Function, FunctionKind
from wire.types import pg_types as t

_OTHER_TYPES: Final = """
_aclitem:1034:A _xml:143:A aclitem:1033:U anyenum:3500:P anyrange:3831:P bit:1560:V box:603:G
cidr:650:I circle:718:G daterange:3912:R inet:869:I! int4range:3904:R int8range:3926:R jsonpath:4072:U
line:628:G lseg:601:G macaddr:829:U macaddr8:774:U money:790:N numrange:3906:R path:602:G pg_lsn:3220:U
point:600:G polygon:604:G
tid:27:U tsquery:3615:U tsrange:3908:R tstzrange:3910:R tsvector:3614:U
varbit:1562:V! xid8:5069:U xml:142:U
"""

_OPERATORS: Final = """
!! tsquery=tsquery
!~ bpchar,text=bool name,text=bool text,text=bool
!~* bpchar,text=bool name,text=bool text,text=bool
!~~ bpchar,text=bool bytea,bytea=bool name,text=bool text,text=bool
!~~* bpchar,text=bool name,text=bool text,text=bool
# path=int4 polygon=int4 bit,bit=bit box,box=box int2,int2=int2 int4,int4=int4 int8,int8=int8 line,line=point
  lseg,lseg=point
## line,lseg=point lseg,box=point lseg,lseg=point point,box=point point,line=point point,lseg=point
#- jsonb,_text=jsonb
#> json,_text=json jsonb,_text=jsonb
#>> json,_text=text jsonb,_text=text
% int2,int2=int2 int4,int4=int4 int8,int8=int8 numeric,numeric=numeric
& bit,bit=bit inet,inet=inet int2,int2=int2 int4,int4=int4 int8,int8=int8 macaddr,macaddr=macaddr
  macaddr8,macaddr8=macaddr8
&& anyarray,anyarray=bool anymultirange,anymultirange=bool anymultirange,anyrange=bool anyrange,anymultirange=bool
  anyrange,anyrange=bool box,box=bool circle,circle=bool inet,inet=bool polygon,polygon=bool tsquery,tsquery=tsquery
&< anymultirange,anymultirange=bool anymultirange,anyrange=bool anyrange,anymultirange=bool anyrange,anyrange=bool
  box,box=bool circle,circle=bool polygon,polygon=bool
&<| box,box=bool circle,circle=bool polygon,polygon=bool
&> anymultirange,anymultirange=bool anymultirange,anyrange=bool anyrange,anymultirange=bool anyrange,anyrange=bool
  box,box=bool circle,circle=bool polygon,polygon=bool
* anymultirange,anymultirange=anymultirange anyrange,anyrange=anyrange box,point=box circle,point=circle
  float4,float4=float4 float4,float8=float8 float4,money=money float8,float4=float8 float8,float8=float8
  float8,interval=interval float8,money=money int2,int2=int2 int2,int4=int4 int2,int8=int8 int2,money=money
  int4,int2=int4 int4,int4=int4 int4,int8=int8 int4,money=money int8,int2=int8 int8,int4=int8 int8,int8=int8
  int8,money=money interval,float8=interval money,float4=money money,float8=money money,int2=money money,int4=money
  money,int8=money numeric,numeric=numeric path,point=path point,point=point
*< record,record=bool
*<= record,record=bool
*<> record,record=bool
*= record,record=bool
*> record,record=bool
*>= record,record=bool
+ float4=float4 float8=float8 int2=int2 int4=int4 int8=int8 numeric=numeric _aclitem,aclitem=_aclitem
  anymultirange,anymultirange=anymultirange anyrange,anyrange=anyrange box,point=box circle,point=circle
  date,int4=date date,interval=timestamp date,time=timestamp date,timetz=timestamptz float4,float4=float4
  float4,float8=float8 float8,float4=float8 float8,float8=float8 inet,int8=inet int2,int2=int2 int2,int4=int4
  int2,int8=int8 int4,date=date int4,int2=int4 int4,int4=int4 int4,int8=int8 int8,inet=inet int8,int2=int8
  int8,int4=int8 int8,int8=int8 interval,date=timestamp interval,interval=interval interval,time=time
  interval,timestamp=timestamp interval,timestamptz=timestamptz interval,timetz=timetz money,money=money
  numeric,numeric=numeric numeric,pg_lsn=pg_lsn path,path=path path,point=path pg_lsn,numeric=pg_lsn point,point=point
  time,date=timestamp time,interval=time timestamp,interval=timestamp timestamptz,interval=timestamptz
  timetz,date=timestamptz timetz,interval=timetz
- float4=float4 float8=float8 int2=int2 int4=int4 int8=int8 interval=interval numeric=numeric
  _aclitem,aclitem=_aclitem anymultirange,anymultirange=anymultirange anyrange,anyrange=anyrange box,point=box
  circle,point=circle date,date=int4 date,int4=date date,interval=timestamp float4,float4=float4 float4,float8=float8
  float8,float4=float8 float8,float8=float8 inet,inet=int8 inet,int8=inet int2,int2=int2 int2,int4=int4 int2,int8=int8
  int4,int2=int4 int4,int4=int4 int4,int8=int8 int8,int2=int8 int8,int4=int8 int8,int8=int8 interval,interval=interval
  jsonb,_text=jsonb jsonb,int4=jsonb jsonb,text=jsonb money,money=money numeric,numeric=numeric path,point=path
  pg_lsn,numeric=pg_lsn pg_lsn,pg_lsn=numeric point,point=point time,interval=time time,time=interval
  timestamp,interval=timestamp timestamp,timestamp=interval timestamptz,interval=timestamptz
  timestamptz,timestamptz=interval timetz,interval=timetz
-> json,int4=json json,text=json jsonb,int4=jsonb jsonb,text=jsonb
->> json,int4=text json,text=text jsonb,int4=text jsonb,text=text
-|- anymultirange,anymultirange=bool anymultirange,anyrange=bool anyrange,anymultirange=bool anyrange,anyrange=bool
/ box,point=box circle,point=circle float4,float4=float4 float4,float8=float8 float8,float4=float8
  float8,float8=float8 int2,int2=int2 int2,int4=int4 int2,int8=int8 int4,int2=int4 int4,int4=int4 int4,int8=int8
  int8,int2=int8 int8,int4=int8 int8,int8=int8 interval,float8=interval money,float4=money money,float8=money
  money,int2=money money,int4=money money,int8=money money,money=float8 numeric,numeric=numeric path,point=path
  point,point=point
< anyarray,anyarray=bool anyenum,anyenum=bool anymultirange,anymultirange=bool anyrange,anyrange=bool bit,bit=bool
  bool,bool=bool box,box=bool bpchar,bpchar=bool bytea,bytea=bool char,char=bool circle,circle=bool date,date=bool
  date,timestamp=bool date,timestamptz=bool float4,float4=bool float4,float8=bool float8,float4=bool
  float8,float8=bool inet,inet=bool int2,int2=bool int2,int4=bool int2,int8=bool int4,int2=bool int4,int4=bool
  int4,int8=bool int8,int2=bool int8,int4=bool int8,int8=bool interval,interval=bool jsonb,jsonb=bool lseg,lseg=bool
  macaddr,macaddr=bool macaddr8,macaddr8=bool money,money=bool name,name=bool name,text=bool numeric,numeric=bool
  oid,oid=bool oidvector,oidvector=bool path,path=bool pg_lsn,pg_lsn=bool record,record=bool text,name=bool
  text,text=bool tid,tid=bool time,time=bool timestamp,date=bool timestamp,timestamp=bool timestamp,timestamptz=bool
  timestamptz,date=bool timestamptz,timestamp=bool timestamptz,timestamptz=bool timetz,timetz=bool
  tsquery,tsquery=bool tsvector,tsvector=bool uuid,uuid=bool varbit,varbit=bool xid8,xid8=bool
<-> box,box=float8 box,lseg=float8 box,point=float8 circle,circle=float8 circle,point=float8 circle,polygon=float8
  line,line=float8 line,lseg=float8 line,point=float8 lseg,box=float8 lseg,line=float8 lseg,lseg=float8
  lseg,point=float8 path,path=float8 path,point=float8 point,box=float8 point,circle=float8 point,line=float8
  point,lseg=float8 point,path=float8 point,point=float8 point,polygon=float8 polygon,circle=float8
  polygon,point=float8 polygon,polygon=float8 tsquery,tsquery=tsquery
<< anymultirange,anymultirange=bool anymultirange,anyrange=bool anyrange,anymultirange=bool anyrange,anyrange=bool
  bit,int4=bit box,box=bool circle,circle=bool inet,inet=bool int2,int4=int2 int4,int4=int4 int8,int4=int8
  point,point=bool polygon,polygon=bool
<<= inet,inet=bool
<<| box,box=bool circle,circle=bool point,point=bool polygon,polygon=bool
<= anyarray,anyarray=bool anyenum,anyenum=bool anymultirange,anymultirange=bool anyrange,anyrange=bool bit,bit=bool
  bool,bool=bool box,box=bool bpchar,bpchar=bool bytea,bytea=bool char,char=bool circle,circle=bool date,date=bool
  date,timestamp=bool date,timestamptz=bool float4,float4=bool float4,float8=bool float8,float4=bool
  float8,float8=bool inet,inet=bool int2,int2=bool int2,int4=bool int2,int8=bool int4,int2=bool int4,int4=bool
  int4,int8=bool int8,int2=bool int8,int4=bool int8,int8=bool interval,interval=bool jsonb,jsonb=bool lseg,lseg=bool
  macaddr,macaddr=bool macaddr8,macaddr8=bool money,money=bool name,name=bool name,text=bool numeric,numeric=bool
  oid,oid=bool oidvector,oidvector=bool path,path=bool pg_lsn,pg_lsn=bool record,record=bool text,name=bool
  text,text=bool tid,tid=bool time,time=bool timestamp,date=bool timestamp,timestamp=bool timestamp,timestamptz=bool
  timestamptz,date=bool timestamptz,timestamp=bool timestamptz,timestamptz=bool timetz,timetz=bool
  tsquery,tsquery=bool tsvector,tsvector=bool uuid,uuid=bool varbit,varbit=bool xid8,xid8=bool
<> anyarray,anyarray=bool anyenum,anyenum=bool anymultirange,anymultirange=bool anyrange,anyrange=bool bit,bit=bool
  bool,bool=bool bpchar,bpchar=bool bytea,bytea=bool char,char=bool circle,circle=bool date,date=bool
  date,timestamp=bool date,timestamptz=bool float4,float4=bool float4,float8=bool float8,float4=bool
  float8,float8=bool inet,inet=bool int2,int2=bool int2,int4=bool int2,int8=bool int4,int2=bool int4,int4=bool
  int4,int8=bool int8,int2=bool int8,int4=bool int8,int8=bool interval,interval=bool jsonb,jsonb=bool lseg,lseg=bool
  macaddr,macaddr=bool macaddr8,macaddr8=bool money,money=bool name,name=bool name,text=bool numeric,numeric=bool
  oid,oid=bool oidvector,oidvector=bool pg_lsn,pg_lsn=bool point,point=bool record,record=bool text,name=bool
  text,text=bool tid,tid=bool time,time=bool timestamp,date=bool timestamp,timestamp=bool timestamp,timestamptz=bool
  timestamptz,date=bool timestamptz,timestamp=bool timestamptz,timestamptz=bool timetz,timetz=bool
  tsquery,tsquery=bool tsvector,tsvector=bool uuid,uuid=bool varbit,varbit=bool xid,int4=bool xid,xid=bool
  xid8,xid8=bool
<@ anyarray,anyarray=bool anyelement,anymultirange=bool anyelement,anyrange=bool anymultirange,anymultirange=bool
  anymultirange,anyrange=bool anyrange,anymultirange=bool anyrange,anyrange=bool box,box=bool circle,circle=bool
  jsonb,jsonb=bool lseg,box=bool lseg,line=bool point,box=bool point,circle=bool point,line=bool point,lseg=bool
  point,path=bool point,polygon=bool polygon,polygon=bool tsquery,tsquery=bool
<^ box,box=bool point,point=bool
= aclitem,aclitem=bool anyarray,anyarray=bool anyenum,anyenum=bool anymultirange,anymultirange=bool
  anyrange,anyrange=bool bit,bit=bool bool,bool=bool box,box=bool bpchar,bpchar=bool bytea,bytea=bool char,char=bool
  cid,cid=bool circle,circle=bool date,date=bool date,timestamp=bool date,timestamptz=bool float4,float4=bool
  float4,float8=bool float8,float4=bool float8,float8=bool inet,inet=bool int2,int2=bool int2,int4=bool int2,int8=bool
  int4,int2=bool int4,int4=bool int4,int8=bool int8,int2=bool int8,int4=bool int8,int8=bool interval,interval=bool
  jsonb,jsonb=bool line,line=bool lseg,lseg=bool macaddr,macaddr=bool macaddr8,macaddr8=bool money,money=bool
  name,name=bool name,text=bool numeric,numeric=bool oid,oid=bool oidvector,oidvector=bool path,path=bool
  pg_lsn,pg_lsn=bool record,record=bool text,name=bool text,text=bool tid,tid=bool time,time=bool timestamp,date=bool
  timestamp,timestamp=bool timestamp,timestamptz=bool timestamptz,date=bool timestamptz,timestamp=bool
  timestamptz,timestamptz=bool timetz,timetz=bool tsquery,tsquery=bool tsvector,tsvector=bool uuid,uuid=bool
  varbit,varbit=bool xid,int4=bool xid,xid=bool xid8,xid8=bool
> anyarray,anyarray=bool anyenum,anyenum=bool anymultirange,anymultirange=bool anyrange,anyrange=bool bit,bit=bool
  bool,bool=bool box,box=bool bpchar,bpchar=bool bytea,bytea=bool char,char=bool circle,circle=bool date,date=bool
  date,timestamp=bool date,timestamptz=bool float4,float4=bool float4,float8=bool float8,float4=bool
  float8,float8=bool inet,inet=bool int2,int2=bool int2,int4=bool int2,int8=bool int4,int2=bool int4,int4=bool
  int4,int8=bool int8,int2=bool int8,int4=bool int8,int8=bool interval,interval=bool jsonb,jsonb=bool lseg,lseg=bool
  macaddr,macaddr=bool macaddr8,macaddr8=bool money,money=bool name,name=bool name,text=bool numeric,numeric=bool
  oid,oid=bool oidvector,oidvector=bool path,path=bool pg_lsn,pg_lsn=bool record,record=bool text,name=bool
  text,text=bool tid,tid=bool time,time=bool timestamp,date=bool timestamp,timestamp=bool timestamp,timestamptz=bool
  timestamptz,date=bool timestamptz,timestamp=bool timestamptz,timestamptz=bool timetz,timetz=bool
  tsquery,tsquery=bool tsvector,tsvector=bool uuid,uuid=bool varbit,varbit=bool xid8,xid8=bool
>= anyarray,anyarray=bool anyenum,anyenum=bool anymultirange,anymultirange=bool anyrange,anyrange=bool bit,bit=bool
  bool,bool=bool box,box=bool bpchar,bpchar=bool bytea,bytea=bool char,char=bool circle,circle=bool date,date=bool
  date,timestamp=bool date,timestamptz=bool float4,float4=bool float4,float8=bool float8,float4=bool
  float8,float8=bool inet,inet=bool int2,int2=bool int2,int4=bool int2,int8=bool int4,int2=bool int4,int4=bool
  int4,int8=bool int8,int2=bool int8,int4=bool int8,int8=bool interval,interval=bool jsonb,jsonb=bool lseg,lseg=bool
  macaddr,macaddr=bool macaddr8,macaddr8=bool money,money=bool name,name=bool name,text=bool numeric,numeric=bool
  oid,oid=bool oidvector,oidvector=bool path,path=bool pg_lsn,pg_lsn=bool record,record=bool text,name=bool
  text,text=bool tid,tid=bool time,time=bool timestamp,date=bool timestamp,timestamp=bool timestamp,timestamptz=bool
  timestamptz,date=bool timestamptz,timestamp=bool timestamptz,timestamptz=bool timetz,timetz=bool
  tsquery,tsquery=bool tsvector,tsvector=bool uuid,uuid=bool varbit,varbit=bool xid8,xid8=bool
>> anymultirange,anymultirange=bool anymultirange,anyrange=bool anyrange,anymultirange=bool anyrange,anyrange=bool
  bit,int4=bit box,box=bool circle,circle=bool inet,inet=bool int2,int4=int2 int4,int4=int4 int8,int4=int8
  point,point=bool polygon,polygon=bool
>>= inet,inet=bool
>^ box,box=bool point,point=bool
? jsonb,text=bool
?# box,box=bool line,box=bool line,line=bool lseg,box=bool lseg,line=bool lseg,lseg=bool path,path=bool
?& jsonb,_text=bool
?- line=bool lseg=bool point,point=bool
?-| line,line=bool lseg,lseg=bool
?| line=bool lseg=bool jsonb,_text=bool point,point=bool
?|| line,line=bool lseg,lseg=bool
@ float4=float4 float8=float8 int2=int2 int4=int4 int8=int8 numeric=numeric
@-@ lseg=float8 path=float8
@> _aclitem,aclitem=bool anyarray,anyarray=bool anymultirange,anyelement=bool anymultirange,anymultirange=bool
  anymultirange,anyrange=bool anyrange,anyelement=bool anyrange,anymultirange=bool anyrange,anyrange=bool box,box=bool
  box,point=bool circle,circle=bool circle,point=bool jsonb,jsonb=bool path,point=bool polygon,point=bool
  polygon,polygon=bool tsquery,tsquery=bool
@? jsonb,jsonpath=bool
@@ box=point circle=point lseg=point polygon=point jsonb,jsonpath=bool text,text=bool text,tsquery=bool
  tsquery,tsvector=bool tsvector,tsquery=bool
@@@ tsquery,tsvector=bool tsvector,tsquery=bool
^ float8,float8=float8 numeric,numeric=numeric
^@ text,text=bool
| bit,bit=bit inet,inet=inet int2,int2=int2 int4,int4=int4 int8,int8=int8 macaddr,macaddr=macaddr
  macaddr8,macaddr8=macaddr8
|&> box,box=bool circle,circle=bool polygon,polygon=bool
|/ float8=float8
|>> box,box=bool circle,circle=bool point,point=bool polygon,polygon=bool
|| anycompatible,anycompatiblearray=anycompatiblearray anycompatiblearray,anycompatible=anycompatiblearray
  anycompatiblearray,anycompatiblearray=anycompatiblearray anynonarray,text=text bytea,bytea=bytea jsonb,jsonb=jsonb
  text,anynonarray=text text,text=text tsquery,tsquery=tsquery tsvector,tsvector=tsvector varbit,varbit=varbit
||/ float8=float8
~ bit=bit inet=inet int2=int2 int4=int4 int8=int8 macaddr=macaddr macaddr8=macaddr8 bpchar,text=bool name,text=bool
  text,text=bool
~* bpchar,text=bool name,text=bool text,text=bool
~<=~ bpchar,bpchar=bool text,text=bool
~<~ bpchar,bpchar=bool text,text=bool
~= box,box=bool circle,circle=bool point,point=bool polygon,polygon=bool
~>=~ bpchar,bpchar=bool text,text=bool
~>~ bpchar,bpchar=bool text,text=bool
~~ bpchar,text=bool bytea,bytea=bool name,text=bool text,text=bool
~~* bpchar,text=bool name,text=bool text,text=bool
"""

_FUNCTIONS: Final = """
_pg_expandarray (anyarray)=setof:record
pg_partition_ancestors (regclass)=setof:regclass
abbrev (cidr)=text (inet)=text
abs (float4)=float4 (float8)=float8 (int2)=int2 (int4)=int4 (int8)=int8 (numeric)=numeric
acos (float8)=float8
acosd (float8)=float8
acosh (float8)=float8
age (timestamp)=interval (timestamp,timestamp)=interval (timestamptz)=interval (timestamptz,timestamptz)=interval
  (xid)=int4
amvalidate (oid)=bool
area (box)=float8 (circle)=float8 (path)=float8
array_agg !(anyarray)=anyarray !(anynonarray)=anyarray
array_append (anycompatiblearray,anycompatible)=anycompatiblearray
array_cat (anycompatiblearray,anycompatiblearray)=anycompatiblearray
array_dims (anyarray)=text
array_fill (anyelement,_int4)=anyarray (anyelement,_int4,_int4)=anyarray
array_length (anyarray,int4)=int4
array_lower (anyarray,int4)=int4
array_ndims (anyarray)=int4
array_position (anycompatiblearray,anycompatible)=int4 (anycompatiblearray,anycompatible,int4)=int4
array_positions (anycompatiblearray,anycompatible)=_int4
array_prepend (anycompatible,anycompatiblearray)=anycompatiblearray
array_remove (anycompatiblearray,anycompatible)=anycompatiblearray
array_replace (anycompatiblearray,anycompatible,anycompatible)=anycompatiblearray
array_to_json (anyarray)=json (anyarray,bool)=json
array_to_string (anyarray,text)=text (anyarray,text,text)=text
array_to_tsvector (_text)=tsvector
array_upper (anyarray,int4)=int4
ascii (text)=int4
asin (float8)=float8
asind (float8)=float8
asinh (float8)=float8
atan (float8)=float8
atan2 (float8,float8)=float8
atan2d (float8,float8)=float8
atand (float8)=float8
atanh (float8)=float8
avg !(float4)=float8 !(float8)=float8 !(int2)=numeric !(int4)=numeric !(int8)=numeric !(interval)=interval
  !(numeric)=numeric
bit_and !(bit)=bit !(int2)=int2 !(int4)=int4 !(int8)=int8
bit_count (bit)=int8 (bytea)=int8
bit_length (bit)=int4 (bytea)=int4 (text)=int4
bit_or !(bit)=bit !(int2)=int2 !(int4)=int4 !(int8)=int8
bit_xor !(bit)=bit !(int2)=int2 !(int4)=int4 !(int8)=int8
bool_and !(bool)=bool
bool_or !(bool)=bool
broadcast (inet)=inet
btrim (bytea,bytea)=bytea (text)=text (text,text)=text
cardinality (anyarray)=int4
cash_words (money)=text
cbrt (float8)=float8
ceil (float8)=float8 (numeric)=numeric
ceiling (float8)=float8 (numeric)=numeric
center (box)=point (circle)=point
char_length (bpchar)=int4 (text)=int4
character_length (bpchar)=int4 (text)=int4
chr (int4)=text
clock_timestamp ()=timestamptz
col_description (oid,int4)=text
concat (any*)=text
concat_ws (text,any*)=text
convert (bytea,name,name)=bytea
convert_from (bytea,name)=text
convert_to (text,name)=bytea
corr !(float8,float8)=float8
cos (float8)=float8
cosd (float8)=float8
cosh (float8)=float8
cot (float8)=float8
cotd (float8)=float8
count !()=int8 !(any)=int8
covar_pop !(float8,float8)=float8
covar_samp !(float8,float8)=float8
cume_dist ~()=float8
current_database ()=name
current_query ()=text
current_schema ()=name
current_schemas (bool)=_name
current_setting (text)=text (text,bool)=text
current_user ()=name
currval (regclass)=int8
date_bin (interval,timestamp,timestamp)=timestamp (interval,timestamptz,timestamptz)=timestamptz
date_part (text,date)=float8 (text,interval)=float8 (text,time)=float8 (text,timestamp)=float8
  (text,timestamptz)=float8 (text,timetz)=float8
date_trunc (text,interval)=interval (text,timestamp)=timestamp (text,timestamptz)=timestamptz
  (text,timestamptz,text)=timestamptz
datemultirange ()=datemultirange (daterange)=datemultirange (daterange*)=datemultirange
daterange (date,date)=daterange (date,date,text)=daterange
decode (text,text)=bytea
degrees (float8)=float8
dense_rank ~()=int8
dexp (float8)=float8
diagonal (box)=lseg
diameter (circle)=float8
div (numeric,numeric)=numeric
dlog1 (float8)=float8
dlog10 (float8)=float8
dround (float8)=float8
dtrunc (float8)=float8
encode (bytea,text)=text
enum_first (anyenum)=anyenum
enum_last (anyenum)=anyenum
enum_range (anyenum)=anyarray (anyenum,anyenum)=anyarray
every !(bool)=bool
exp (float8)=float8 (numeric)=numeric
extract (text,date)=numeric (text,interval)=numeric (text,time)=numeric (text,timestamp)=numeric
  (text,timestamptz)=numeric (text,timetz)=numeric
factorial (int8)=numeric
family (inet)=int4
first_value ~(anyelement)=anyelement
floor (float8)=float8 (numeric)=numeric
format (text)=text (text,any*)=text
format_type (oid,int4)=text
gcd (int4,int4)=int4 (int8,int8)=int8 (numeric,numeric)=numeric
gen_random_uuid ()=uuid
generate_series (int4,int4)=setof:int4 (int4,int4,int4)=setof:int4 (int8,int8)=setof:int8 (int8,int8,int8)=setof:int8
  (numeric,numeric)=setof:numeric (numeric,numeric,numeric)=setof:numeric
  (timestamp,timestamp,interval)=setof:timestamp (timestamptz,timestamptz,interval)=setof:timestamptz
generate_subscripts (anyarray,int4)=setof:int4 (anyarray,int4,bool)=setof:int4
get_bit (bit,int4)=int4 (bytea,int8)=int4
get_byte (bytea,int4)=int4
get_current_ts_config ()=regconfig
getdatabaseencoding ()=name
getpgusername ()=name
has_any_column_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_column_privilege (name,oid,int2,text)=bool (name,oid,text,text)=bool (name,text,int2,text)=bool
  (name,text,text,text)=bool (oid,int2,text)=bool (oid,oid,int2,text)=bool (oid,oid,text,text)=bool
  (oid,text,int2,text)=bool (oid,text,text)=bool (oid,text,text,text)=bool (text,int2,text)=bool (text,text,text)=bool
has_database_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_foreign_data_wrapper_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_function_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_language_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_schema_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_sequence_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_server_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_table_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_tablespace_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool
  (oid,text,text)=bool (text,text)=bool
has_type_privilege (name,oid,text)=bool (name,text,text)=bool (oid,oid,text)=bool (oid,text)=bool (oid,text,text)=bool
  (text,text)=bool
hashtext (text)=int4
height (box)=float8
host (inet)=text
hostmask (inet)=inet
inet_client_addr ()=inet
inet_client_port ()=int4
inet_merge (inet,inet)=cidr
inet_same_family (inet,inet)=bool
inet_server_addr ()=inet
inet_server_port ()=int4
initcap (text)=text
int4multirange ()=int4multirange (int4range)=int4multirange (int4range*)=int4multirange
int4range (int4,int4)=int4range (int4,int4,text)=int4range
int8_sum (numeric,int8)=numeric
int8multirange ()=int8multirange (int8range)=int8multirange (int8range*)=int8multirange
int8range (int8,int8)=int8range (int8,int8,text)=int8range
is_normalized (text,text?1)=bool
isclosed (path)=bool
isempty (anymultirange)=bool (anyrange)=bool
isfinite (date)=bool (interval)=bool (timestamp)=bool (timestamptz)=bool
ishorizontal (line)=bool (lseg)=bool (point,point)=bool
isopen (path)=bool
isparallel (line,line)=bool (lseg,lseg)=bool
isperp (line,line)=bool (lseg,lseg)=bool
isvertical (line)=bool (lseg)=bool (point,point)=bool
json_agg !(anyelement)=json
json_array_elements (json)=setof:json
json_array_elements_text (json)=setof:text
json_array_length (json)=int4
json_build_array ()=json (any*)=json
json_build_object ()=json (any*)=json
json_each (json)=setof:record
json_each_text (json)=setof:record
json_extract_path (json,text*)=json
json_extract_path_text (json,text*)=text
json_object (_text)=json (_text,_text)=json
json_object_agg !(any,any)=json
json_object_keys (json)=setof:text
json_populate_record (anyelement,json,bool?1)=anyelement
json_populate_recordset (anyelement,json,bool?1)=setof:anyelement
json_strip_nulls (json)=json
json_to_record (json)=record
json_to_recordset (json)=setof:record
json_to_tsvector (json,jsonb)=tsvector (regconfig,json,jsonb)=tsvector
json_typeof (json)=text
jsonb_agg !(anyelement)=jsonb
jsonb_array_elements (jsonb)=setof:jsonb
jsonb_array_elements_text (jsonb)=setof:text
jsonb_array_length (jsonb)=int4
jsonb_build_array ()=jsonb (any*)=jsonb
jsonb_build_object ()=jsonb (any*)=jsonb
jsonb_each (jsonb)=setof:record
jsonb_each_text (jsonb)=setof:record
jsonb_extract_path (jsonb,text*)=jsonb
jsonb_extract_path_text (jsonb,text*)=text
jsonb_insert (jsonb,_text,jsonb,bool?1)=jsonb
jsonb_object (_text)=jsonb (_text,_text)=jsonb
jsonb_object_agg !(any,any)=jsonb
jsonb_object_keys (jsonb)=setof:text
jsonb_path_exists (jsonb,jsonpath,jsonb,bool?2)=bool
jsonb_path_exists_tz (jsonb,jsonpath,jsonb,bool?2)=bool
jsonb_path_match (jsonb,jsonpath,jsonb,bool?2)=bool
jsonb_path_match_tz (jsonb,jsonpath,jsonb,bool?2)=bool
jsonb_path_query (jsonb,jsonpath,jsonb,bool?2)=setof:jsonb
jsonb_path_query_array (jsonb,jsonpath,jsonb,bool?2)=jsonb
jsonb_path_query_array_tz (jsonb,jsonpath,jsonb,bool?2)=jsonb
jsonb_path_query_first (jsonb,jsonpath,jsonb,bool?2)=jsonb
jsonb_path_query_first_tz (jsonb,jsonpath,jsonb,bool?2)=jsonb
jsonb_path_query_tz (jsonb,jsonpath,jsonb,bool?2)=setof:jsonb
jsonb_populate_record (anyelement,jsonb)=anyelement
jsonb_populate_recordset (anyelement,jsonb)=setof:anyelement
jsonb_pretty (jsonb)=text
jsonb_set (jsonb,_text,jsonb,bool?1)=jsonb
jsonb_set_lax (jsonb,_text,jsonb,bool,text?2)=jsonb
jsonb_strip_nulls (jsonb)=jsonb
jsonb_to_record (jsonb)=record
jsonb_to_recordset (jsonb)=setof:record
jsonb_to_tsvector (jsonb,jsonb)=tsvector (regconfig,jsonb,jsonb)=tsvector
jsonb_typeof (jsonb)=text
justify_days (interval)=interval
justify_hours (interval)=interval
justify_interval (interval)=interval
lag ~(anycompatible,int4,anycompatible)=anycompatible ~(anyelement)=anyelement ~(anyelement,int4)=anyelement
last_value ~(anyelement)=anyelement
lastval ()=int8
lcm (int4,int4)=int4 (int8,int8)=int8 (numeric,numeric)=numeric
lead ~(anycompatible,int4,anycompatible)=anycompatible ~(anyelement)=anyelement ~(anyelement,int4)=anyelement
left (text,int4)=text
length (bit)=int4 (bpchar)=int4 (bytea)=int4 (bytea,name)=int4 (lseg)=float8 (path)=float8 (text)=int4 (tsvector)=int4
like (bytea,bytea)=bool (name,text)=bool (text,text)=bool
like_escape (bytea,bytea)=bytea (text,text)=text
ln (float8)=float8 (numeric)=numeric
log (float8)=float8 (numeric)=numeric (numeric,numeric)=numeric
log10 (float8)=float8 (numeric)=numeric
loread (int4,int4)=bytea
lower (anymultirange)=anyelement (anyrange)=anyelement (text)=text
lower_inc (anymultirange)=bool (anyrange)=bool
lower_inf (anymultirange)=bool (anyrange)=bool
lowrite (int4,bytea)=int4
lpad (text,int4)=text (text,int4,text)=text
ltrim (bytea,bytea)=bytea (text)=text (text,text)=text
macaddr8_set7bit (macaddr8)=macaddr8
make_date (int4,int4,int4)=date
make_interval (int4,int4,int4,int4,int4,int4,float8?7)=interval
make_time (int4,int4,float8)=time
make_timestamp (int4,int4,int4,int4,int4,float8)=timestamp
make_timestamptz (int4,int4,int4,int4,int4,float8)=timestamptz (int4,int4,int4,int4,int4,float8,text)=timestamptz
makeaclitem (oid,oid,text,bool)=aclitem
masklen (inet)=int4
max !(anyarray)=anyarray !(anyenum)=anyenum !(bpchar)=bpchar !(date)=date !(float4)=float4 !(float8)=float8
  !(inet)=inet !(int2)=int2 !(int4)=int4 !(int8)=int8 !(interval)=interval !(money)=money !(numeric)=numeric
  !(oid)=oid !(pg_lsn)=pg_lsn !(text)=text !(tid)=tid !(time)=time !(timestamp)=timestamp !(timestamptz)=timestamptz
  !(timetz)=timetz !(xid8)=xid8
md5 (bytea)=text (text)=text
min !(anyarray)=anyarray !(anyenum)=anyenum !(bpchar)=bpchar !(date)=date !(float4)=float4 !(float8)=float8
  !(inet)=inet !(int2)=int2 !(int4)=int4 !(int8)=int8 !(interval)=interval !(money)=money !(numeric)=numeric
  !(oid)=oid !(pg_lsn)=pg_lsn !(text)=text !(tid)=tid !(time)=time !(timestamp)=timestamp !(timestamptz)=timestamptz
  !(timetz)=timetz !(xid8)=xid8
min_scale (numeric)=int4
mod (int2,int2)=int2 (int4,int4)=int4 (int8,int8)=int8 (numeric,numeric)=numeric
mode @(anyelement)=anyelement
multirange (anyrange)=anymultirange
mxid_age (xid)=int4
nameconcatoid (name,oid)=name
netmask (inet)=inet
network (inet)=cidr
nextval (regclass)=int8
normalize (text,text?1)=text
notlike (bytea,bytea)=bool (name,text)=bool (text,text)=bool
now ()=timestamptz
npoints (path)=int4 (polygon)=int4
nth_value ~(anyelement,int4)=anyelement
ntile ~(int4)=int4
num_nonnulls (any*)=int4
num_nulls (any*)=int4
numeric_div_trunc (numeric,numeric)=numeric
numeric_exp (numeric)=numeric
numeric_inc (numeric)=numeric
numeric_ln (numeric)=numeric
numeric_log (numeric,numeric)=numeric
numeric_sqrt (numeric)=numeric
nummultirange ()=nummultirange (numrange)=nummultirange (numrange*)=nummultirange
numnode (tsquery)=int4
numrange (numeric,numeric)=numrange (numeric,numeric,text)=numrange
obj_description (oid)=text (oid,name)=text
octet_length (bit)=int4 (bpchar)=int4 (bytea)=int4 (text)=int4
oidvectortypes (oidvector)=text
overlaps (time,interval,time,interval)=bool (time,interval,time,time)=bool (time,time,time,interval)=bool
  (time,time,time,time)=bool (timestamp,interval,timestamp,interval)=bool
  (timestamp,interval,timestamp,timestamp)=bool (timestamp,timestamp,timestamp,interval)=bool
  (timestamp,timestamp,timestamp,timestamp)=bool (timestamptz,interval,timestamptz,interval)=bool
  (timestamptz,interval,timestamptz,timestamptz)=bool (timestamptz,timestamptz,timestamptz,interval)=bool
  (timestamptz,timestamptz,timestamptz,timestamptz)=bool (timetz,timetz,timetz,timetz)=bool
overlay (bit,bit,int4)=bit (bit,bit,int4,int4)=bit (bytea,bytea,int4)=bytea (bytea,bytea,int4,int4)=bytea
  (text,text,int4)=text (text,text,int4,int4)=text
parse_ident (text,bool?1)=_text
pclose (path)=path
percent_rank ~()=float8
percentile_cont @(_float8,float8)=_float8 @(_float8,interval)=_interval @(float8,float8)=float8
  @(float8,interval)=interval
percentile_disc @(_float8,anyelement)=anyarray @(float8,anyelement)=anyelement
pg_advisory_lock (int4,int4)=void (int8)=void
pg_advisory_lock_shared (int4,int4)=void (int8)=void
pg_advisory_unlock (int4,int4)=bool (int8)=bool
pg_advisory_unlock_all ()=void
pg_advisory_unlock_shared (int4,int4)=bool (int8)=bool
pg_advisory_xact_lock (int4,int4)=void (int8)=void
pg_advisory_xact_lock_shared (int4,int4)=void (int8)=void
pg_backend_pid ()=int4
pg_cancel_backend (int4)=bool
pg_client_encoding ()=name
pg_collation_is_visible (oid)=bool
pg_column_size (any)=int4
pg_conf_load_time ()=timestamptz
pg_conversion_is_visible (oid)=bool
pg_database_size (name)=int8 (oid)=int8
pg_encoding_max_length (int4)=int4
pg_encoding_to_char (int4)=name
pg_function_is_visible (oid)=bool
pg_get_backend_memory_contexts ()=setof:record
pg_get_catalog_foreign_keys ()=setof:record
pg_get_constraintdef (oid)=text (oid,bool)=text
pg_get_expr (pg_node_tree,oid)=text (pg_node_tree,oid,bool)=text
pg_get_function_arg_default (oid,int4)=text
pg_get_function_arguments (oid)=text
pg_get_function_identity_arguments (oid)=text
pg_get_function_result (oid)=text
pg_get_function_sqlbody (oid)=text
pg_get_functiondef (oid)=text
pg_get_indexdef (oid)=text (oid,int4,bool)=text
pg_get_keywords ()=setof:record
pg_get_multixact_members (xid)=setof:record
pg_get_object_address (text,_text,_text)=record
pg_get_partition_constraintdef (oid)=text
pg_get_partkeydef (oid)=text
pg_get_publication_tables (text)=setof:record
pg_get_replica_identity_index (regclass)=regclass
pg_get_replication_slots ()=setof:record
pg_get_ruledef (oid)=text (oid,bool)=text
pg_get_serial_sequence (text,text)=text
pg_get_shmem_allocations ()=setof:record
pg_get_statisticsobjdef (oid)=text
pg_get_statisticsobjdef_columns (oid)=text
pg_get_statisticsobjdef_expressions (oid)=_text
pg_get_triggerdef (oid)=text (oid,bool)=text
pg_get_userbyid (oid)=name
pg_get_viewdef (oid)=text (oid,bool)=text (oid,int4)=text (text)=text (text,bool)=text
pg_get_wal_replay_pause_state ()=text
pg_get_wal_resource_managers ()=setof:record
pg_has_role (name,name,text)=bool (name,oid,text)=bool (name,text)=bool (oid,name,text)=bool (oid,oid,text)=bool
  (oid,text)=bool
pg_is_in_recovery ()=bool
pg_is_other_temp_schema (oid)=bool
pg_jit_available ()=bool
pg_listening_channels ()=setof:text
pg_my_temp_schema ()=oid
pg_notification_queue_usage ()=float8
pg_notify (text,text)=void
pg_opclass_is_visible (oid)=bool
pg_operator_is_visible (oid)=bool
pg_opfamily_is_visible (oid)=bool
pg_postmaster_start_time ()=timestamptz
pg_relation_size (regclass)=int8 (regclass,text)=int8
pg_size_bytes (text)=int8
pg_size_pretty (int8)=text (numeric)=text
pg_sleep (float8)=void
pg_sleep_for (interval)=void
pg_sleep_until (timestamptz)=void
pg_statistics_obj_is_visible (oid)=bool
pg_table_is_visible (oid)=bool
pg_terminate_backend (int4,int8?1)=bool
pg_total_relation_size (regclass)=int8
pg_try_advisory_lock (int4,int4)=bool (int8)=bool
pg_try_advisory_lock_shared (int4,int4)=bool (int8)=bool
pg_try_advisory_xact_lock (int4,int4)=bool (int8)=bool
pg_try_advisory_xact_lock_shared (int4,int4)=bool (int8)=bool
pg_ts_config_is_visible (oid)=bool
pg_ts_dict_is_visible (oid)=bool
pg_ts_parser_is_visible (oid)=bool
pg_ts_template_is_visible (oid)=bool
pg_type_is_visible (oid)=bool
pg_typeof (any)=regtype
phraseto_tsquery (regconfig,text)=tsquery (text)=tsquery
pi ()=float8
plainto_tsquery (regconfig,text)=tsquery (text)=tsquery
point (box)=point (circle)=point (float8,float8)=point (lseg)=point (polygon)=point
popen (path)=path
position (bit,bit)=int4 (bytea,bytea)=int4 (text,text)=int4
pow (float8,float8)=float8 (numeric,numeric)=numeric
power (float8,float8)=float8 (numeric,numeric)=numeric
querytree (tsquery)=text
quote_ident (text)=text
quote_literal (anyelement)=text (text)=text
quote_nullable (anyelement)=text (text)=text
radians (float8)=float8
radius (circle)=float8
random ()=float8
range_agg !(anymultirange)=anymultirange !(anyrange)=anymultirange
range_intersect_agg !(anymultirange)=anymultirange !(anyrange)=anyrange
range_merge (anymultirange)=anyrange (anyrange,anyrange)=anyrange
rank ~()=int8
regexp_count (text,text)=int4 (text,text,int4)=int4 (text,text,int4,text)=int4
regexp_instr (text,text)=int4 (text,text,int4)=int4 (text,text,int4,int4)=int4 (text,text,int4,int4,int4)=int4
  (text,text,int4,int4,int4,text)=int4 (text,text,int4,int4,int4,text,int4)=int4
regexp_like (text,text)=bool (text,text,text)=bool
regexp_match (text,text)=_text (text,text,text)=_text
regexp_matches (text,text)=setof:_text (text,text,text)=setof:_text
regexp_replace (text,text,text)=text (text,text,text,int4)=text (text,text,text,int4,int4)=text
  (text,text,text,int4,int4,text)=text (text,text,text,text)=text
regexp_split_to_array (text,text)=_text (text,text,text)=_text
regexp_split_to_table (text,text)=setof:text (text,text,text)=setof:text
regexp_substr (text,text)=text (text,text,int4)=text (text,text,int4,int4)=text (text,text,int4,int4,text)=text
  (text,text,int4,int4,text,int4)=text
regr_avgx !(float8,float8)=float8
regr_avgy !(float8,float8)=float8
regr_count !(float8,float8)=int8
regr_intercept !(float8,float8)=float8
regr_r2 !(float8,float8)=float8
regr_slope !(float8,float8)=float8
regr_sxx !(float8,float8)=float8
regr_sxy !(float8,float8)=float8
regr_syy !(float8,float8)=float8
repeat (text,int4)=text
replace (text,text,text)=text
reverse (text)=text
right (text,int4)=text
round (float8)=float8 (numeric)=numeric (numeric,int4)=numeric
row_number ~()=int8
row_security_active (oid)=bool (text)=bool
row_to_json (record)=json (record,bool)=json
rpad (text,int4)=text (text,int4,text)=text
rtrim (bytea,bytea)=bytea (text)=text (text,text)=text
satisfies_hash_partition (oid,int4,int4,any*)=bool
scale (numeric)=int4
session_user ()=name
set_bit (bit,int4,int4)=bit (bytea,int8,int4)=bytea
set_byte (bytea,int4,int4)=bytea
set_config (text,text,bool)=text
set_masklen (cidr,int4)=cidr (inet,int4)=inet
setseed (float8)=void
setval (regclass,int8)=int8 (regclass,int8,bool)=int8
setweight (tsvector,char)=tsvector (tsvector,char,_text)=tsvector
sha224 (bytea)=bytea
sha256 (bytea)=bytea
sha384 (bytea)=bytea
sha512 (bytea)=bytea
shobj_description (oid,name)=text
sign (float8)=float8 (numeric)=numeric
similar_escape (text,text)=text
similar_to_escape (text)=text (text,text)=text
sin (float8)=float8
sind (float8)=float8
sinh (float8)=float8
slope (point,point)=float8
split_part (text,text,int4)=text
sqrt (float8)=float8 (numeric)=numeric
starts_with (text,text)=bool
statement_timestamp ()=timestamptz
stddev !(float4)=float8 !(float8)=float8 !(int2)=numeric !(int4)=numeric !(int8)=numeric !(numeric)=numeric
stddev_pop !(float4)=float8 !(float8)=float8 !(int2)=numeric !(int4)=numeric !(int8)=numeric !(numeric)=numeric
stddev_samp !(float4)=float8 !(float8)=float8 !(int2)=numeric !(int4)=numeric !(int8)=numeric !(numeric)=numeric
string_agg !(bytea,bytea)=bytea !(text,text)=text
string_to_array (text,text)=_text (text,text,text)=_text
string_to_table (text,text)=setof:text (text,text,text)=setof:text
strip (tsvector)=tsvector
strpos (text,text)=int4
substr (bytea,int4)=bytea (bytea,int4,int4)=bytea (text,int4)=text (text,int4,int4)=text
substring (bit,int4)=bit (bit,int4,int4)=bit (bytea,int4)=bytea (bytea,int4,int4)=bytea (text,int4)=text
  (text,int4,int4)=text (text,text)=text (text,text,text)=text
sum !(float4)=float4 !(float8)=float8 !(int2)=int8 !(int4)=int8 !(int8)=numeric !(interval)=interval !(money)=money
  !(numeric)=numeric
tan (float8)=float8
tand (float8)=float8
tanh (float8)=float8
texticlike (text,text)=bool
timeofday ()=text
timezone (interval,timestamp)=timestamptz (interval,timestamptz)=timestamp (interval,timetz)=timetz
  (text,timestamp)=timestamptz (text,timestamptz)=timestamp (text,timetz)=timetz
to_ascii (text)=text (text,int4)=text (text,name)=text
to_char (float4,text)=text (float8,text)=text (int4,text)=text (int8,text)=text (interval,text)=text
  (numeric,text)=text (timestamp,text)=text (timestamptz,text)=text
to_date (text,text)=date
to_hex (int4)=text (int8)=text
to_json (anyelement)=json
to_jsonb (anyelement)=jsonb
to_number (text,text)=numeric
to_regclass (text)=regclass
to_regcollation (text)=regcollation
to_regnamespace (text)=regnamespace
to_regoper (text)=regoper
to_regoperator (text)=regoperator
to_regproc (text)=regproc
to_regprocedure (text)=regprocedure
to_regrole (text)=regrole
to_regtype (text)=regtype
to_timestamp (float8)=timestamptz (text,text)=timestamptz
to_tsquery (regconfig,text)=tsquery (text)=tsquery
to_tsvector (json)=tsvector (jsonb)=tsvector (regconfig,json)=tsvector (regconfig,jsonb)=tsvector
  (regconfig,text)=tsvector (text)=tsvector
transaction_timestamp ()=timestamptz
translate (text,text,text)=text
trim_array (anyarray,int4)=anyarray
trim_scale (numeric)=numeric
trunc (float8)=float8 (macaddr)=macaddr (macaddr8)=macaddr8 (numeric)=numeric (numeric,int4)=numeric
tsquery_phrase (tsquery,tsquery)=tsquery (tsquery,tsquery,int4)=tsquery
tsmultirange ()=tsmultirange (tsrange)=tsmultirange (tsrange*)=tsmultirange
tsrange (timestamp,timestamp)=tsrange (timestamp,timestamp,text)=tsrange
tstzmultirange ()=tstzmultirange (tstzrange)=tstzmultirange (tstzrange*)=tstzmultirange
tstzrange (timestamptz,timestamptz)=tstzrange (timestamptz,timestamptz,text)=tstzrange
tsvector_to_array (tsvector)=_text
unistr (text)=text
unnest (anyarray)=setof:anyelement (anymultirange)=setof:anyrange (tsvector)=setof:record
upper (anymultirange)=anyelement (anyrange)=anyelement (text)=text
upper_inc (anymultirange)=bool (anyrange)=bool
upper_inf (anymultirange)=bool (anyrange)=bool
var_pop !(float4)=float8 !(float8)=float8 !(int2)=numeric !(int4)=numeric !(int8)=numeric !(numeric)=numeric
var_samp !(float4)=float8 !(float8)=float8 !(int2)=numeric !(int4)=numeric !(int8)=numeric !(numeric)=numeric
variance !(float4)=float8 !(float8)=float8 !(int2)=numeric !(int4)=numeric !(int8)=numeric !(numeric)=numeric
version ()=text
websearch_to_tsquery (regconfig,text)=tsquery (text)=tsquery
width (box)=float8
width_bucket (anycompatible,anycompatiblearray)=int4 (float8,float8,float8,int4)=int4
  (numeric,numeric,numeric,int4)=int4
xpath (text,xml)=_xml (text,xml,_text)=_xml
xpath_exists (text,xml)=bool (text,xml,_text)=bool
"""

#: Names whose signatures never compete with a row of ours: administration, text search, XML.
_OTHER_FUNCTIONS: Final = """
acldefault aclexplode currtid2 cursor_to_xml cursor_to_xmlschema database_to_xml database_to_xml_and_xmlschema
database_to_xmlschema has_parameter_privilege lo_close lo_creat lo_create lo_export lo_from_bytea lo_get lo_import lo_lseek
lo_lseek64 lo_open lo_put lo_tell lo_tell64 lo_truncate lo_truncate64 lo_unlink
pg_backup_start pg_backup_stop pg_blocking_pids pg_char_to_encoding pg_collation_actual_version pg_collation_for
pg_column_compression pg_column_is_updatable pg_control_checkpoint pg_control_init pg_control_recovery
pg_control_system pg_copy_logical_replication_slot pg_copy_physical_replication_slot
pg_create_logical_replication_slot pg_create_physical_replication_slot pg_create_restore_point pg_current_logfile
pg_current_snapshot pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn pg_current_xact_id
pg_current_xact_id_if_assigned pg_cursor pg_database_collation_actual_version pg_describe_object
pg_drop_replication_slot pg_event_trigger_ddl_commands pg_event_trigger_dropped_objects
pg_event_trigger_table_rewrite_oid pg_event_trigger_table_rewrite_reason pg_export_snapshot pg_extension_config_dump
pg_extension_update_paths pg_filenode_relation pg_identify_object pg_identify_object_as_address
pg_import_system_collations pg_index_column_has_property pg_index_has_property pg_indexam_has_property
pg_indexam_progress_phasename pg_indexes_size pg_is_wal_replay_paused pg_isolation_test_session_is_blocked
pg_last_committed_xact pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp
pg_lock_status pg_log_backend_memory_contexts pg_logical_emit_message
pg_logical_slot_get_binary_changes pg_logical_slot_get_changes pg_logical_slot_peek_binary_changes
pg_logical_slot_peek_changes pg_ls_archive_statusdir pg_ls_dir pg_ls_logdir pg_ls_logicalmapdir pg_ls_logicalsnapdir
pg_ls_replslotdir pg_ls_tmpdir pg_ls_waldir pg_mcv_list_items pg_nextoid
pg_options_to_table pg_partition_ancestors pg_partition_root pg_partition_tree pg_prepared_statement pg_prepared_xact
pg_promote pg_read_binary_file pg_read_file pg_read_file_old pg_relation_filenode pg_relation_filepath
pg_relation_is_publishable pg_relation_is_updatable pg_reload_conf pg_replication_origin_advance
pg_replication_origin_create pg_replication_origin_drop pg_replication_origin_oid pg_replication_origin_progress
pg_replication_origin_session_is_setup pg_replication_origin_session_progress pg_replication_origin_session_reset
pg_replication_origin_session_setup pg_replication_origin_xact_reset pg_replication_origin_xact_setup
pg_replication_slot_advance pg_rotate_logfile pg_rotate_logfile_old pg_safe_snapshot_blocking_pids
pg_sequence_last_value pg_sequence_parameters pg_settings_get_flags pg_show_all_file_settings pg_show_all_settings
pg_show_replication_origin_status pg_snapshot_xip pg_snapshot_xmax pg_snapshot_xmin pg_stat_clear_snapshot
pg_stat_file pg_stat_force_next_flush pg_stat_have_stats pg_stat_reset pg_stat_reset_replication_slot
pg_stat_reset_shared pg_stat_reset_single_function_counters pg_stat_reset_single_table_counters pg_stat_reset_slru
pg_stat_reset_subscription_stats pg_stop_making_pinned_objects pg_switch_wal pg_table_size pg_tablespace_databases
pg_tablespace_location pg_tablespace_size pg_trigger_depth
pg_visible_in_snapshot pg_wal_lsn_diff pg_wal_replay_pause
pg_wal_replay_resume pg_walfile_name pg_walfile_name_offset pg_xact_commit_timestamp pg_xact_commit_timestamp_origin
pg_xact_status query_to_xml query_to_xml_and_xmlschema query_to_xmlschema schema_to_xml schema_to_xml_and_xmlschema
schema_to_xmlschema table_to_xml table_to_xml_and_xmlschema table_to_xmlschema ts_debug ts_delete ts_filter
ts_headline ts_lexize ts_parse ts_rank ts_rank_cd ts_rewrite ts_stat ts_token_type txid_current
txid_current_if_assigned txid_current_snapshot txid_snapshot_xip txid_snapshot_xmax txid_snapshot_xmin txid_status
txid_visible_in_snapshot xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlagg xmlcomment
xmlexists xmlvalidate
"""

_KINDS: Final[dict[str, FunctionKind]] = {"": "function", "!": "aggregate", "@": "ordered_set", "~": "window"}
_SIGNATURE: Final = re.compile(r"([!@~]?)\(([^)*?]*)(\*?)(?:\?(\d+))?\)=(setof:)?(.+)")


def _stub(entry: str) -> t.PgType:
    name, oid, category = entry.split(":")
    return t.PgType(int(oid), name, -1, category[0], category.endswith("!"), sql_name=name)


_STUBS: Final = {stub.name: stub for stub in map(_stub, _OTHER_TYPES.split())}


def _type(name: str) -> t.PgType:
    return t.BY_NAME.get(name) or _STUBS[name]


def _lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each name with its signatures; a line that begins with a blank continues the one above."""
    for line in text.strip().replace("\n  ", " ").splitlines():
        name, *signatures = line.split(" ")
        yield name, signatures


def _operators() -> Iterator[Function]:
    for symbol, signatures in _lines(_OPERATORS):
        for signature in signatures:
            args, _, result = signature.partition("=")
            yield Function(symbol, "operator", tuple(map(_type, args.split(","))), _type(result))


def functions() -> Iterator[Function]:
    """Yield a row without templates for every function's signature."""
    for name, signatures in _lines(_FUNCTIONS):
        for signature in signatures:
            found = _SIGNATURE.fullmatch(signature)
            assert found is not None, signature
            kind, args, variadic, optional, returns_set, result = cast("tuple[str, ...]", found.groups())
            yield Function(
                name,
                _KINDS[kind],
                tuple(map(_type, filter(None, args.split(",")))),
                _type(result),
                variadic=bool(variadic),
                optional=int(optional or 0),
                returns_set=bool(returns_set),
            )


def missing_signatures(present: Collection[Function]) -> Iterator[Function]:
    """Yield a row without templates for every signature of PostgreSQL's that is not among `present`."""
    there = {(row.kind == "operator", row.name, row.args) for row in present}
    for row in (*_operators(), *functions()):
        if (row.kind == "operator", row.name, row.args) not in there:
            yield row


#: Every name that a call may mean in PostgreSQL, whether or not its signatures are listed.
PG_FUNCTIONS: Final = frozenset(_OTHER_FUNCTIONS.split()) | {name for name, _ in _lines(_FUNCTIONS)}

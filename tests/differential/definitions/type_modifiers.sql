select oid, m, format_type(oid, m) from (values (1186), (1187), (25), (1009), (23), (1007), (16), (1042), (1014), (1043), (22), (30), (18), (1002), (1114), (1185), (1700), (1231), (1560), (1561), (1082), (3802), (0), (99999), (2249)) a(oid), (values (null), (-1), (7), (10), (327680)) b(m) where oid not in (1186, 1187) or m is null or m < 0 order by 1, 2;
select m, format_type(1186, m), format_type(1187, m) from (values (2147418115), (2147483647), (458751), (262147), (131071), (196607), (67174399), (134283263), (268435459), (402718719), (470155263), (2147418112), (67239935)) b(m) where ((m - (m & 65535)) / 65536) & 32767 in (32767, 4, 2, 6, 8, 1024, 2048, 4096, 1032, 3080, 7176, 3072, 7168, 6144) order by 1;
select format_type(1186, 7);
create table i (a interval, b interval day to second(3), c interval(0), d interval year, e interval hour to minute, g interval second(2), x text, y varchar(7)[]);
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'i'::regclass and attnum > 0 order by attnum;
select format_type(25, 7), format_type(1186, 2147418115), format_type(1186, null), format_type(1186, -1), format_type(1009, 7), format_type(0, 7), format_type(1, 7), format_type(1561, -1);
select format_type(1186, 131078);

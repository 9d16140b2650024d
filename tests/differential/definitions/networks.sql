create table n (id int primary key, a inet, b cidr);
insert into n values (1, '10.1.2.3/8', '10.0.0.0/8'), (2, '10.1.2.3', '10.1.0.0/16'), (3, '::1', '::/0'), (4, 'fe80::1/64', 'fe80::/16'), (5, null, null), (6, '192.168.1.5/24', '192.168.1.0/24');
select id, host(a), masklen(a), family(a), broadcast(a), netmask(a), hostmask(a), network(a), a::text from n order by id;
select id, host(b), masklen(b), network(b), broadcast(b), b::text from n order by id;
select x.id, y.id, x.a << y.b, x.a <<= y.b, x.a >> y.b, x.a >>= y.a, x.a && y.b from n x, n y order by 1, 2;
select id, set_masklen(a, 16), set_masklen(b, 8), set_masklen(a, -1) from n order by id;
select set_masklen('10.0.0.1'::inet, 33);
select inet_merge('192.168.1.5/24', '192.168.2.5/24'), inet_same_family('10.0.0.1', '::1');
select id from n where a << '10.0.0.0/8' order by id;
select a::cidr from n where id = 2;
select b::inet from n order by id
;
select '::1'::inet::name, '10.0.0.1'::inet::name, '10.0.0.0/8'::cidr::name, '10.0.0.1/8'::inet::name, '10.0.0.1'::inet::text;
select i::name from (values ('10.0.0.1'::inet), ('::1'), (null)) v(i);
select abbrev(c), abbrev(c::inet) from (values ('2001:db8::/32'::cidr), ('::/0'), ('::1/128'), ('::ffff:1.2.3.0/120'), ('::1.2.3.4/128'), ('1::/16'), ('1:0:0:2::/64'), ('1:2:3:4:5:6:7:8'), ('fe80::/10'), ('0:0:1:0:0:1::/96'), ('10.1.0.0/16')) v(c)

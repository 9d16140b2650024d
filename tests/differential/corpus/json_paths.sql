select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[0]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[1 to 2]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[last]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[last - 1].b[*]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[0, 2, 0]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[3][*]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*].b'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*].b[*]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.*'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.c.*'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.*.*'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.**'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.**{1}'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.**{2 to 3}'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.**{last}'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.**{0}'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.**{1 to last}.d'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.**.b[1]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a.**{2}'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.zz'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.c.d.e'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.c[0].d'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.c[*].e'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.c[last].e'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[10]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[-1]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[2 to 1]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[1.9]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a["x"]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[99999999999]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[$.c.e + 8]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$[*].c'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a.b'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a.b[*].type()'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$."c"."d"'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.zz'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.c.d.e'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a.b'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a[*].b'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a[10]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a[-1]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a[2 to 1]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.c[*]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.c[0]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a.*'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.f.*'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.**.b'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.**.d'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a[last]'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a[2].b[*] ? (@ == 3)'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.c.size()'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.**.size()'); -- refused: spark
select jsonb_path_query('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.a["x"]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ > 2)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ >= 2 && @ < 4.5)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ == 3)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ != 3)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ <> 3)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ < 0 || @ == 1)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (!(@ > 2))'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$ ? (@ > 2)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', 'strict $ ? (@ > 2)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', 'strict $ ? (@[*] > 2)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] + 1'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[0] + $[1]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[0] - 0.75'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[1] * $[3]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[0] / 3'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[3] / $[2]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[3] % 2'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[4] % 3'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '-$[*]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '+$[*]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '-$[*].abs()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '-($[0] + 1)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[0] / 0'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[0] % 0'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '-"a"'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '-$[*] > 0'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '2 * (3 + 4) - -1'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '10 / 4'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '1.0 / 7'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '100000000000 / 3'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '0.0001 / 3'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[4] / 3.0000000000000000000'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*].floor()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*].ceiling()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*].abs()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$.floor()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', 'strict $.abs()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '(-3.5).abs()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '(-0.5).ceiling()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$.size()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*].size()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$.type()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*].type()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] > 1'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] > 9'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '($[*] > 9).type()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[1] == $[*]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '1 + "a"'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '"a" * 1'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$ + 1'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '1 - $[*]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[last - 1 to last]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[$[0]]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[last ? (@ > 3)]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[$.size() - 1]'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$ ? (@.size() > 4)'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ > $[2])'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[0] ? (@ == 1).type()'); -- refused: spark
select jsonb_path_query('[1, 2, 3.0, 4.50, -5]', '$[*] ? (@ > 1) ? (@ < 4)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*].type()'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (@ == null)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (@ != null)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (@ < 2)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (@ == "a")'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (@ > "A")'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (@ == true)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (@ > false)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? ((@ < 2) is unknown)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] ? (!(@ == 1))'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] == {}');
select jsonb_path_query('["a", 1, null, true, {}, []]', 'strict $[*] ? (@ < 2)'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', 'strict $[*] < 2'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', 'strict ($[*] < 2) is unknown'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', 'lax $[*] < 2'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*] < 0'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '($[*] == 1) is unknown'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '(1 < "x") is unknown'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '1 == null'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', 'null == null'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', 'null < null'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', 'null <= null'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '"a" < "b"'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', 'true > false'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '(1 == 1) && (1 == "1")'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '(1 == 2) && (1 == "1")'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '(1 == 1) || (1 == "1")'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '!(1 == "1")'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[4] == $[4]'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*].abs()'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[*].double()'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[5].keyvalue()'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[5][*]'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[4].*'); -- refused: spark
select jsonb_path_query('["a", 1, null, true, {}, []]', '$[0].floor()'); -- refused: spark
select jsonb_path_query('1', '$[9] ? (');
select jsonb_path_query('1', '$.a b');
select jsonb_path_query('1', '');
select jsonb_path_query('1', '@');
select jsonb_path_query('1', 'last');
select jsonb_path_query('1', '$ like_regex "("');
select jsonb_path_query('1', '$ like_regex "a" flag "z"');
select jsonb_path_query('1', '$ like_regex "a" flag "x"');
select jsonb_path_query('1', '$.a[');
select jsonb_path_query('1', '$ == 1 == 2');
select jsonb_path_query('1', '$..a');
select jsonb_path_query('1', 'exists $');
select jsonb_path_query('1', '$.datetime(1)');
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (exists(@.a))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (exists(@.zz))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (!exists(@.zz))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', 'strict $ ? (exists(@.zz))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', 'strict $ ? ((exists(@.zz)) is unknown)'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.b ? (exists(@ ? (@ > 1)))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (exists(-@.b ? (@ == 2)))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (exists(-@.c))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (exists(+"x"))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', 'strict $ ? (exists(+"x"))'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.keyvalue().key'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.keyvalue() ? (@.key starts with "l").value'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c.keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c.e[*].keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.**.keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.keyvalue().keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.keyvalue().value.keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (exists(@.keyvalue())).keyvalue().keyvalue().id'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.a.keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.b.keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', 'strict $.b.keyvalue()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$."long name"'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c.**{1 to 2}'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c ? (@.d == 5).e'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c ? (@.d > 5)'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.b ? (@ == 2)'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.b[*] ? (@ == 2)'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (@.b == 2)'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (@.b[*] > @.a).a'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c ? (@.e.f == $.a).d'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '($.c).d'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '($.b)[0]'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '($.a == 1).type()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '($.a + 1).abs()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c.size()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.c.e.size()'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (@.a == 1 || @.zz / 0 == 1).a'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$.* ? (@.type() == "number")'); -- refused: spark
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"d": 5, "e": [{"f": 1}]}, "long name": "v"}', '$ ? (($.a > 0) && ($.c.d > 4)).c.d'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ starts with "a")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ starts with "")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] starts with "A"'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[5] starts with "1"'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "^a")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "^a" flag "i")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "a.c")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "a.c" flag "q")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "A.C" flag "qi")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "a.b")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "a.b" flag "s")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "^b")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "^b" flag "m")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "a$" flag "m")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "^a(b|c){1,2}[^d]")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] like_regex "zz"'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? ((@ like_regex "a") is unknown)'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[*] ? (@ like_regex "\\w\\w\\w")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', '$[0] ? (@ like_regex "***=abc")'); -- refused: spark
select jsonb_path_query('["abc", "Abd", "a.c", "a\nb", "xbc", 1, null]', 'strict $[*] like_regex "a"'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[0].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[1].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[2].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[3].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[4].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[5].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[6].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[7].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[9].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[10].double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '"1e-7".double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '"123456789012345678".double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '(1.50).double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', 'null.double()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$[*].double().type()'); -- refused: spark
select jsonb_path_query('["1.5", " 1e3 ", "abc", "inf", "NaN", "", "1e400", "-0", "0x1A", 2.50, 1e-7]', '$.double()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0 to 7].datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0 to 7].datetime().type()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[8].datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[9].datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[10].datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[11].datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0 to 7].datetime() ? (@ == "2017-03-10".datetime())'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0, 4, 5].datetime() ? (@ > "2017-03-10".datetime())'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[1, 2].datetime() ? (@ < "12:34:56.5".datetime())'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[6, 7].datetime() ? (@ < "2017-03-10 11:00:00+00".datetime())'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[3].datetime() == "07:04:56+00".datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[3].datetime() < "07:04:56+00".datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime() == "12:34:56".datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime() == "2017-03-10"'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("YYYY-MM-DD")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("DD-MM-YYYY")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("YYYY-MM")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[1].datetime("HH24:MI:SS")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[1].datetime("HH24:MI")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[4].datetime("YYYY-MM-DD HH24:MI:SS")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[4].datetime("YYYY-MM-DD HH24:MI:SS").type()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[5].datetime("YYYY-MM-DD\"T\"HH24:MI:SS.MS")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[5].datetime("YYYY-MM-DDTHH24:MI:SS.MS")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[3].datetime("HH24:MI:SSTZH:TZM")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[5].datetime("YYYY-MM-DD\"T\"HH24:MI:SS.FF1")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("YYYY/MM/DD")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("aaa")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("YYYY-MM-DD TZH")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '"10 mar 17".datetime("dd mon yy")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '"12:34 pm".datetime("HH:MI am")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '"2017-03-10 +1".datetime("YYYY-MM-DD TZH")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime("TZ")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '"2017".datetime("FXYYYY")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '"44-01-01 BC".datetime("YYYY-MM-DD BC")'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0 to 5].datetime() ? (@ < "2017-03-11 00:00:00+00".datetime())'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[*].datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime().datetime()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime().size()'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '$[0].datetime() starts with "2"'); -- refused: spark
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.78 ", "12:34:56+05:30", "2017-03-10 12:34:56", "2017-03-10T12:34:56.789", "2017-03-10 12:34:56+3", "2017-03-10T12:34:56.1-05:20", "x", 1, "0001-01-01", "2017-13-01"]', '-$[0].datetime()'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '$[($[0] - 4).abs()]'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '$[($[0] > 1).size() to last]'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '1 + ($[1] * 2).abs()'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '(exists ($[9])).type()'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '(($[0] == "3") is unknown).type()'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '$ ? (exists ((@[0] == 3).type() ? (@ == "boolean")))'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '-($[1] - 10).abs()'); -- refused: spark
select jsonb_path_query('[3, [4], 5, 1]', '(!($[0] == 3)) ? (@ == false)'); -- refused: spark
select jsonb_path_exists('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*] ? (@ > 2)'); -- refused: spark
select jsonb_path_exists('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.zz'); -- refused: spark
select jsonb_path_exists('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.zz'); -- refused: spark
select jsonb_path_exists('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.zz', '{}', true); -- refused: spark
select jsonb_path_exists('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'strict $.zz', silent => true); -- refused: spark
select jsonb_path_exists('[1, "x"]', '$[*].abs()'); -- refused: spark
select jsonb_path_exists('["x", 1]', '$[*].abs()'); -- refused: spark
select jsonb_path_exists('["x", 1]', '$[*].abs()', silent => true); -- refused: spark
select jsonb_path_exists('["x", 1]', '-$[*]'); -- refused: spark
select jsonb_path_exists('[1, "x"]', 'strict -$[*]', silent => true); -- refused: spark
select jsonb_path_exists('[1, "x"]', 'strict $[*].abs()', silent => true); -- refused: spark
select jsonb_path_exists('1', '$v'); -- refused: spark
select jsonb_path_exists('{}', '$.a.b'); -- refused: spark
select jsonb_path_exists('{}', '$ == 1'); -- refused: spark
select jsonb_path_exists('[]', '$[*]'); -- refused: spark
select jsonb_path_match('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*] > 2'); -- refused: spark
select jsonb_path_match('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', 'exists($.zz)'); -- refused: spark
select jsonb_path_match('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.zz'); -- refused: spark
select jsonb_path_match('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.zz', silent => true); -- refused: spark
select jsonb_path_match('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.f'); -- refused: spark
select jsonb_path_match('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.c.d'); -- refused: spark
select jsonb_path_match('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.c.d', '{}', true); -- refused: spark
select jsonb_path_match('[true, true]', '$[*]'); -- refused: spark
select jsonb_path_match('[true, true]', '$[*]', silent => true); -- refused: spark
select jsonb_path_match('true', '$'); -- refused: spark
select jsonb_path_match('1', '$ == "1"'); -- refused: spark
select jsonb_path_match('[true, 1]', 'strict $[*].abs()', silent => true); -- refused: spark
select jsonb_path_match('{"a": true}', 'strict ($.a)'); -- refused: spark
select jsonb_path_query_array('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*] ? (@ > 1)'); -- refused: spark
select jsonb_path_query_array('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.zz'); -- refused: spark
select jsonb_path_query_array('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*].type()'); -- refused: spark
select jsonb_path_query_array('["x", 1]', '$[*].abs()', silent => true); -- refused: spark
select jsonb_path_query_array('[1, "x", 2]', '$[*].abs()', silent => true); -- refused: spark
select jsonb_path_query_array('["2017-03-10"]', '$[*].datetime()'); -- refused: spark
select jsonb_path_query_first('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.a[*] ? (@ > 1)'); -- refused: spark
select jsonb_path_query_first('{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}', '$.zz'); -- refused: spark
select jsonb_path_query_first('[1, "x"]', '$[*].abs()'); -- refused: spark
select jsonb_path_query_first('[1, "x"]', '$[*].abs()', silent => true); -- refused: spark
select jsonb_path_query('{"a": 1, "b": {"c": "x"}}', '$.**.abs()', silent => true); -- refused: spark
select jsonb_path_query('{"a": 1, "b": 2}', '$.**.abs()'); -- refused: spark
select jsonb_path_query('5', '$.**.abs()'); -- refused: spark
select jsonb_path_query('"x"', '$.**.abs()', silent => true); -- refused: spark
select jsonb_path_query('[[1], 2]', '$ ? (exists(@.**.abs()))'); -- refused: spark
select jsonb_path_query('[["x"], 2]', 'strict $.**{0 to 2}.abs()', silent => true); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$[*] ? (@ > $min)', '{"min": 1}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$[*] ? (@ > $min && @ < $max)', vars => '{"min": 1, "max": 3}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$[*] ? (@ == $l)', '{"l": [2, 3]}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$[*] ? (@ > $nope)', '{"min": 1}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$nope', silent => true); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$v.a[*] + 1', '{"v": {"a": [2]}}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$"a b"', '{"a b": [null]}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$v.keyvalue()', '{"u": 1, "v": {"a": {}, "b": 1.5}}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$v.keyvalue().value.keyvalue()', '{"u": 1, "v": {"a": {"x": 1}}}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$[*] ? ("abc" starts with $p)', '{"p": "ab"}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$[0] ? ("abc" starts with $p)', '{"p": ["ab"]}'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$', '[]'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$', '1'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$', '[]', true); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$', null); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$', '{}', null); -- refused: spark
select jsonb_path_query(null, '$'); -- refused: spark
select jsonb_path_query('[1, 2, 3]', null); -- refused: spark
select jsonb_path_exists('[1, 2, 3]', '$', null), jsonb_path_match('[1, 2, 3]', '$', silent => null); -- refused: spark
select jsonb_path_query_array(target => '[1, 2, 3]', path => '$[*] ? (@ < $x)', vars => '{"x": 3}', silent => false); -- refused: spark
select jsonb_path_query_array(path => '$[*]', target => '[1, 2, 3]'); -- refused: spark
select jsonb_path_query_array('[1, 2, 3]', path => '$[*]', silent => true); -- refused: spark
select jsonb_path_query_array('[1, 2, 3]', '$[*]', nothing => true);
select jsonb_path_query('[1, 2, 3]', 'strict $.a', silent => true); -- refused: spark
select jsonb_path_query('[1, 2, 3]', '$[*] / 0', silent => true); -- refused: spark
select jsonb_path_query('[1, 2, 3]', 'strict $[5]', silent => true); -- refused: spark
select '{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}'::jsonb @? '$.a[*] ? (@ > 2)', '{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}'::jsonb @? '$.zz', '{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}'::jsonb @? 'strict $.zz', '{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}'::jsonb @@ '$.a[*] > 2', '{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}'::jsonb @@ '$.zz', '{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}'::jsonb @@ 'strict $.zz == 1', '{"a": [1, 2.50, {"b": [3, "x", null, true]}, [4, [5]]], "c": {"d": "text", "e": -7}, "f": null}'::jsonb @@ '$.c.d'; -- refused: spark
select '{"a": 1}'::jsonb @? '$v'; -- refused: spark
select '[1]'::jsonb @@ '$[*] == $v'; -- refused: spark
select null::jsonb @? '$', '1'::jsonb @@ null; -- refused: spark
select '1'::jsonb @? null::jsonpath is null; -- refused: spark
select '{"a": [1, 2, 3]}' @? '$.a[*] ? (@ > 2)'; -- refused: spark
select '[1]'::json @? '$';
select '[1]'::jsonb @? '$'::text;
select not '[1]'::jsonb @? '$[1]' as b; -- refused: spark
select * from jsonb_path_query('[1, {"a": 2}]', '$[*]'); -- refused: spark
select * from jsonb_path_query('[1, 2]', '$[*]') with ordinality as x(v, n); -- refused: spark
select v.n, q from (values (1, '[1, 2]'::jsonb), (2, '{}'), (3, null), (4, '[3]')) v(n, d), jsonb_path_query(d, '$[*]') q; -- refused: spark
select n, jsonb_path_query(d, '$[*] ? (@ > 1)') from (values (1, '[1, 2, 3]'::jsonb), (2, '{}'), (3, null)) v(n, d); -- refused: spark
select n from (values (1, '{"a": [1, 2, 3]}'::jsonb), (2, '{"a": [1]}'), (3, null), (4, '7')) v(n, d) where d @? '$.a[*] ? (@ > 2)'; -- refused: spark
select n, d @@ p, d @? p, jsonb_path_query_array(d, p) from (values (1, '{"a": 1}'::jsonb, '$.a == 1'::jsonpath), (2, '[1]', 'strict $[*]'), (3, '1', null), (4, '2', '$ > 3')) v(n, d, p); -- refused: spark
select p::text, jsonb_path_query_first('{"a": 5}', p::jsonpath) from (values ('$.a'), ('$.b'), ('$ .a+ 1')) v(p); -- refused: spark
select count(*) from nation where to_jsonb(n_nationkey) @@ '$ > 20'; -- refused: spark
select n_nationkey, jsonb_path_query_first(jsonb_build_object('k', n_nationkey, 'n', n_name), '$ ? (@.k > $low).n', jsonb_build_object('low', n_regionkey + 20)) from nation where n_nationkey > 19; -- refused: spark
select jsonb_path_query_array(jsonb_agg(n_nationkey order by n_nationkey), '$[*] ? (@ % 5 == 0)') from nation; -- refused: spark
select n, jsonb_path_query_first_tz(d, '$.datetime() ? (@ < "2020-06-01 00:00:00+00".datetime())') from (values (1, '"2020-01-01"'::jsonb), (2, '"2020-06-01 00:00:00"'), (3, '"2020-05-31T23:59:59"')) v(n, d); -- refused: spark
select jsonb_path_exists_tz('"2020-01-01"', '$.datetime() < "2020-01-01 12:00:00+00".datetime()'); -- refused: spark
select jsonb_path_match_tz('"12:00:00"', '$.datetime() == "12:00:00+00".datetime()'); -- refused: spark
select jsonb_path_query_tz('["2020-01-01", "2020-01-01 10:00:00"]', '$[*].datetime() ? (@ <= "2020-01-01 00:00:00+00".datetime())'); -- refused: spark
select jsonb_path_query_array_tz('["2020-01-01 10:00:00-02", "x"]', '$[0].datetime()'); -- refused: spark
select jsonb_path_match('"12:00:00"', '$.datetime() == "12:00:00+00".datetime()'); -- refused: spark
select jsonb_path_query_first_tz('["x"]', '$[0].datetime()'); -- refused: spark
select jsonb_path_query_array_tz('["x"]', '$[0].datetime()', silent => true); -- refused: spark
select jsonb_path_match('"2020-01-01"', '$.datetime() == "2020-01-01 00:00:00+00".datetime()', silent => true); -- refused: spark
select jsonb_path_query('[12345678901234567890.12345678901234567890, 1e400]', '$[*] * 3'); -- refused: spark
select jsonb_path_query('[123456789012345678901234567890123456789012345678901234567890, 7.1]', '$[0] / $[1]'); -- refused: spark
select jsonb_path_query('1e131071', '$ * 1000'); -- refused: spark
select jsonb_path_query('1e131071', '$ * 1000', silent => true); -- refused: spark
select jsonb_path_query('{"a": 1e131071}', '$.a * 1000 == 1'); -- refused: spark
select jsonb_path_query('1e-16000', '$ * 1e-16000 == 0'); -- refused: spark
select jsonb_path_query('[0, -0.0, 0.00]', '-$[*]'); -- refused: spark
select jsonb_path_query('{"b": 1, "aa": 2, "": 3, "é": 4}', '$.*'); -- refused: spark
select jsonb_path_query('{"b": 1, "aa": 2, "": 3, "é": 4}', '$.keyvalue().key'); -- refused: spark
select jsonb_path_query('{"é": {"x": {}}, "n": [1.5, 123456, 0, 1e70, {"y": 1}], "t": true}', '$.**.keyvalue().id'); -- refused: spark
select jsonb_path_query('"\u00e9\n\"q"', '$'); -- refused: spark
select jsonb_path_query('{"a\"b": 1}', '$."a\"b"'); -- refused: spark
select jsonb_path_query('{"a": {"a": {"a": [1, {"a": 2}]}}}', '$.a.a.**.a'); -- refused: spark
select pg_typeof(jsonb_path_query_first('[1]', '$[0]')), ('$[($.a - 3).abs()]'::jsonpath)::text, array['$[($.a - 3).abs()]']::jsonpath[], concat('$.a'::jsonpath); -- refused: spark

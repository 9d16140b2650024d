-- local
SELECT
  t1.c1 AS c1
FROM (VALUES
  ('a'),
  (CAST(NULL AS TEXT)),
  ('B'),
  ('A')) AS t1(c1)
ORDER BY
  c1 NULLS LAST

-- spark
SELECT
  t1.c1 AS c1
FROM VALUES
  ('a'),
  (CAST(NULL AS STRING)),
  ('B'),
  ('A') AS t1(c1)
ORDER BY
  c1 NULLS LAST

-- local
SELECT
  t1.c1 AS c1
FROM (VALUES
  ('a', 3),
  ('A', 2),
  ('B', 1)) AS t1(c1, c2)
ORDER BY
  t1.c2 NULLS LAST

-- spark
SELECT
  t1.c1 AS c1
FROM VALUES
  ('a', 3),
  ('A', 2),
  ('B', 1) AS t1(c1, c2)
ORDER BY
  t1.c2 NULLS LAST

-- local
SELECT
  t1.c1 AS c1,
  COUNT(*) OVER () AS c2
FROM (VALUES
  (1),
  (2),
  (2)) AS t1(c1)

-- spark
SELECT
  t1.c1 AS c1,
  COUNT(*) OVER () AS c2
FROM VALUES
  (1),
  (2),
  (2) AS t1(c1)

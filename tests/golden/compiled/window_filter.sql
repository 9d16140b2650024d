-- local
SELECT
  t1.c1 AS c1,
  COUNT(*) FILTER(WHERE
    t1.c1 = 3) OVER (PARTITION BY t1.c1) AS c2
FROM (VALUES
  (3),
  (3),
  (2)) AS t1(c1)

-- spark
SELECT
  t1.c1 AS c1,
  COUNT(CASE WHEN t1.c1 = 3 THEN 1 END) OVER (PARTITION BY t1.c1) AS c2
FROM VALUES
  (3),
  (3),
  (2) AS t1(c1)

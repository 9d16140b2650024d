-- local
SELECT
  t1.c1 AS c3,
  t1.c2 AS c4,
  COUNT(*) AS c5,
  CAST(GROUPING(t1.c2) AS INT) + CAST(GROUPING(t1.c1) AS INT) * 2 AS c6
FROM (
  SELECT
    0 AS c1,
    'A' AS c2
) AS t1
GROUP BY
  GROUPING SETS (
    (t1.c1, t1.c2),
    (t1.c1),
    (),
    (t1.c2)
  )

-- spark
SELECT
  t1.c1 AS c3,
  t1.c2 AS c4,
  COUNT(*) AS c5,
  CAST(GROUPING(t1.c2) AS INT) + CAST(GROUPING(t1.c1) AS INT) * 2 AS c6
FROM (
  SELECT
    0 AS c1,
    'A' AS c2
) AS t1
GROUP BY
  GROUPING SETS (
    (t1.c1, t1.c2),
    (t1.c1),
    (),
    (t1.c2)
  )

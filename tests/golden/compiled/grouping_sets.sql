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
  COUNT(*) FILTER(WHERE
    t1.c7) AS c5,
  CAST(GROUPING(t1.c2) AS INT) + CAST(GROUPING(t1.c1) AS INT) * 2 AS c6
FROM (
  SELECT
    0 AS c1,
    'A' AS c2,
    TRUE AS c7,
    TRUE AS c8
  UNION ALL
  SELECT
    CAST(NULL AS INT) AS c1,
    CAST(NULL AS STRING) AS c2,
    FALSE AS c7,
    FALSE AS c8
) AS t1
GROUP BY
  GROUPING SETS (
    (t1.c1, t1.c2, t1.c8),
    (t1.c1, t1.c8),
    (),
    (t1.c2, t1.c8)
  )
HAVING
  t1.c8 IS NULL OR t1.c8

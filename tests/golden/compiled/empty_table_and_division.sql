-- local
SELECT
  t1.c3 AS c4,
  t1.c3 + t4.c2 AS c5,
  1 // 1 AS c6
FROM (VALUES
  (0),
  (1)) AS t1(c3)
CROSS JOIN (
  SELECT
    COUNT(*) AS c2
  FROM (
    SELECT
      CAST(NULL AS BIGINT) AS c1
    WHERE
      FALSE
  ) AS t3
) AS t4

-- spark
SELECT
  t1.c3 AS c4,
  t1.c3 + t4.c2 AS c5,
  1 DIV 1 AS c6
FROM VALUES
  (0),
  (1) AS t1(c3)
CROSS JOIN (
  SELECT
    COUNT(*) AS c2
  FROM (
    SELECT
      CAST(NULL AS BIGINT) AS c1
    WHERE
      FALSE
  ) AS t3
) AS t4

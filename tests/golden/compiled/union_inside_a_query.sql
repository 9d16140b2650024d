-- local
SELECT
  t1.c2 AS c7,
  t1.c1 AS c8
FROM (
  SELECT
    1 AS c1,
    10 AS c2
  UNION ALL
  SELECT
    2 AS c1,
    20 AS c2
) AS t1

-- spark
SELECT
  t1.c2 AS c7,
  t1.c1 AS c8
FROM (
  SELECT
    1 AS c1,
    10 AS c2
  UNION ALL
  SELECT
    2 AS c1,
    20 AS c2
) AS t1

-- local
WITH RECURSIVE w2(c1) AS (
  SELECT
    1 AS c1
  UNION ALL
  SELECT
    t1.c1 + 1 AS c1
  FROM w2 AS t1
  WHERE
    t1.c1 < 4
)
SELECT
  t2.c1 AS c4
FROM w2 AS t2

-- spark
WITH RECURSIVE w2(c1) AS (
  SELECT
    1 AS c1
  UNION ALL
  SELECT
    t1.c1 + 1 AS c1
  FROM w2 AS t1
  WHERE
    t1.c1 < 4
)
SELECT
  t2.c1 AS c4
FROM w2 AS t2

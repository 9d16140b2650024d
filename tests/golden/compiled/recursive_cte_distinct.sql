-- local
WITH RECURSIVE w3(c1) AS (
  SELECT
    0 AS c1
  UNION
  SELECT
    CASE WHEN (
      t1.c1 + 1
    ) > 2 THEN 0 ELSE t1.c1 + 1 END AS c1
  FROM w3 AS t1
)
SELECT
  t2.c1 AS c4
FROM w3 AS t2

-- spark
not supported: WITH RECURSIVE with UNION that is not ALL

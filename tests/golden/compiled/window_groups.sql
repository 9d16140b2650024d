-- local
SELECT
  t1.c1 AS c1,
  CAST(SUM(t1.c1) OVER (
    ORDER BY t1.c1 NULLS LAST
    GROUPS BETWEEN CURRENT ROW AND (
      CAST(1 AS BIGINT)
    ) FOLLOWING
  ) AS BIGINT) AS c2
FROM (VALUES
  (1),
  (2),
  (3)) AS t1(c1)

-- spark
not supported: window frames by GROUPS

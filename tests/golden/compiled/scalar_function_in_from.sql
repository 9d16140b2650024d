-- local
SELECT
  t1.c1 AS c1
FROM (
  SELECT
    UPPER('b') AS c1
) AS t1

-- spark
SELECT
  t1.c1 AS c1
FROM (
  SELECT
    UPPER('b') AS c1
) AS t1

-- local
SELECT
  t1.c1 = t1.c1 AS c2
FROM (
  SELECT
    RANDOM() AS c1
) AS t1

-- spark
SELECT
  t1.c1 = t1.c1 AS c2
FROM (
  SELECT
    RAND() AS c1
) AS t1

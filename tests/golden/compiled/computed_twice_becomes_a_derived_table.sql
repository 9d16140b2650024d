-- local
SELECT
  t2.c2 * t2.c2 AS c3,
  t2.c2 * t2.c2 AS c4
FROM (
  SELECT
    t1.c1 + 1 AS c2
  FROM (VALUES
    (1),
    (2)) AS t1(c1)
) AS t2

-- spark
SELECT
  t2.c2 * t2.c2 AS c3,
  t2.c2 * t2.c2 AS c4
FROM (
  SELECT
    t1.c1 + 1 AS c2
  FROM VALUES
    (1),
    (2) AS t1(c1)
) AS t2

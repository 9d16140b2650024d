-- local
SELECT
  t2.c3 AS c7,
  COUNT(*) AS c8
FROM (
  SELECT
    'k' AS c2,
    t1.c1 AS c3
  FROM (VALUES
    (1),
    (1),
    (2),
    (2)) AS t1(c1)
) AS t2
GROUP BY
  t2.c2,
  t2.c3

-- spark
SELECT
  t2.c3 AS c7,
  COUNT(*) AS c8
FROM (
  SELECT
    'k' AS c2,
    t1.c1 AS c3
  FROM VALUES
    (1),
    (1),
    (2),
    (2) AS t1(c1)
) AS t2
GROUP BY
  t2.c2,
  t2.c3

-- local
SELECT
  t2.c1 * 3 AS c2
FROM (
  SELECT
    t1.c1 AS c1
  FROM (VALUES
    (2),
    (1),
    (3)) AS t1(c1)
  ORDER BY
    c1 NULLS LAST
  LIMIT 2
) AS t2
ORDER BY
  t2.c1 NULLS LAST

-- spark
SELECT
  t2.c1 * 3 AS c2
FROM (
  SELECT
    t1.c1 AS c1
  FROM VALUES
    (2),
    (1),
    (3) AS t1(c1)
  ORDER BY
    c1 NULLS LAST
  LIMIT 2
) AS t2
ORDER BY
  t2.c1 NULLS LAST

-- local
WITH w4(c2) AS (
  SELECT
    t2.c2 AS c2
  FROM (VALUES
    (1),
    (2)) AS t2(c2)
)
SELECT
  t1.c1 AS c6
FROM (VALUES
  (1),
  (2),
  (9)) AS t1(c1)
WHERE
  t1.c1 IN (
    SELECT
      t3.c2 AS c5
    FROM w4 AS t3
    JOIN w4 AS t4
      ON t3.c2 = t4.c2
  )

-- spark
WITH w4(c2) AS (
  SELECT
    t2.c2 AS c2
  FROM VALUES
    (1),
    (2) AS t2(c2)
)
SELECT
  t1.c1 AS c6
FROM VALUES
  (1),
  (2),
  (9) AS t1(c1)
WHERE
  t1.c1 IN (
    SELECT
      t3.c2 AS c5
    FROM w4 AS t3
    JOIN w4 AS t4
      ON t3.c2 = t4.c2
  )

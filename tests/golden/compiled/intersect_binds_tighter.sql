-- local
(
  SELECT
    t1.c2 AS c4
  FROM (VALUES
    (1),
    (2)) AS t1(c2)
  UNION
  SELECT
    t2.c3 AS c1
  FROM (VALUES
    (2),
    (9)) AS t2(c3)
)
INTERSECT ALL
SELECT
  t3.c5 AS c4
FROM (VALUES
  (1),
  (2),
  (2)) AS t3(c5)

-- spark
(
  SELECT
    t1.c2 AS c4
  FROM VALUES
    (1),
    (2) AS t1(c2)
  UNION
  SELECT
    t2.c3 AS c1
  FROM VALUES
    (2),
    (9) AS t2(c3)
)
INTERSECT ALL
SELECT
  t3.c5 AS c4
FROM VALUES
  (1),
  (2),
  (2) AS t3(c5)

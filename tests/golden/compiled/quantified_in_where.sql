-- local
SELECT
  t1.c1 AS c3
FROM (VALUES
  (1),
  (3),
  (4)) AS t1(c1)
WHERE
  EXISTS(
    SELECT
      1 AS one
    FROM (
      SELECT
        t2.c2 AS c2
      FROM (VALUES
        (3),
        (CAST(NULL AS INT))) AS t2(c2)
    ) AS t3
    WHERE
      t1.c1 > t3.c2
  )

-- spark
SELECT
  t1.c1 AS c3
FROM VALUES
  (1),
  (3),
  (4) AS t1(c1)
WHERE
  EXISTS(
    SELECT
      1 AS one
    FROM (
      SELECT
        t2.c2 AS c2
      FROM VALUES
        (3),
        (CAST(NULL AS INT)) AS t2(c2)
    ) AS t3
    WHERE
      t1.c1 > t3.c2
  )

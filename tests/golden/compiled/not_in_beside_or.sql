-- local
SELECT
  t1.c1 AS c3
FROM (VALUES
  (1),
  (2),
  (3)) AS t1(c1)
WHERE
  NOT (
    t1.c1 IN (
      SELECT
        t2.c2 AS c2
      FROM (VALUES
        (1),
        (CAST(NULL AS INT))) AS t2(c2)
    )
  )
  OR t1.c1 = 2

-- spark
SELECT
  t1.c1 AS c3
FROM VALUES
  (1),
  (2),
  (3) AS t1(c1)
WHERE
  NOT CASE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t2.c2 AS c2
        FROM VALUES
          (1),
          (CAST(NULL AS INT)) AS t2(c2)
      ) AS t3
      WHERE
        t1.c1 = t3.c2
    )
    THEN TRUE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t4.c2 AS c2
        FROM VALUES
          (1),
          (CAST(NULL AS INT)) AS t4(c2)
      ) AS t5
      WHERE
        (
          t1.c1 = t5.c2
        ) IS NULL
    )
    THEN CAST(NULL AS BOOLEAN)
    ELSE FALSE
  END
  OR t1.c1 = 2

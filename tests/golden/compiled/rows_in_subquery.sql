-- local
SELECT
  t1.c1 AS c6,
  (t1.c1, t1.c1) IN (
    SELECT
      t2.c2 AS c2,
      t2.c3 AS c3
    FROM (VALUES
      (1, 1),
      (2, CAST(NULL AS INT)),
      (CAST(NULL AS INT), 3)) AS t2(c2, c3)
  ) AS c7,
  (t1.c1, t1.c1) IN (
    SELECT
      t3.c4 AS c4,
      t3.c5 AS c5
    FROM (VALUES
      (3, 3),
      (CAST(NULL AS INT), CAST(NULL AS INT))) AS t3(c4, c5)
  ) AS c8
FROM (VALUES
  (1),
  (2),
  (3)) AS t1(c1)

-- spark
SELECT
  t1.c1 AS c6,
  CASE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t2.c2 AS c2,
          t2.c3 AS c3
        FROM VALUES
          (1, 1),
          (2, CAST(NULL AS INT)),
          (CAST(NULL AS INT), 3) AS t2(c2, c3)
      ) AS t3
      WHERE
        t1.c1 = t3.c2 AND t1.c1 = t3.c3
    )
    THEN TRUE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t4.c2 AS c2,
          t4.c3 AS c3
        FROM VALUES
          (1, 1),
          (2, CAST(NULL AS INT)),
          (CAST(NULL AS INT), 3) AS t4(c2, c3)
      ) AS t5
      WHERE
        (
          t1.c1 = t5.c2 AND t1.c1 = t5.c3
        ) IS NULL
    )
    THEN CAST(NULL AS BOOLEAN)
    ELSE FALSE
  END AS c7,
  CASE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t6.c4 AS c4,
          t6.c5 AS c5
        FROM VALUES
          (3, 3),
          (CAST(NULL AS INT), CAST(NULL AS INT)) AS t6(c4, c5)
      ) AS t7
      WHERE
        t1.c1 = t7.c4 AND t1.c1 = t7.c5
    )
    THEN TRUE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t8.c4 AS c4,
          t8.c5 AS c5
        FROM VALUES
          (3, 3),
          (CAST(NULL AS INT), CAST(NULL AS INT)) AS t8(c4, c5)
      ) AS t9
      WHERE
        (
          t1.c1 = t9.c4 AND t1.c1 = t9.c5
        ) IS NULL
    )
    THEN CAST(NULL AS BOOLEAN)
    ELSE FALSE
  END AS c8
FROM VALUES
  (1),
  (2),
  (3) AS t1(c1)

-- local
SELECT
  t1.c1 AS c6,
  CASE
    WHEN t1.c1 = 1
    THEN FALSE
    ELSE CASE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t2.c2 AS c2
          FROM (VALUES
            (1),
            (3),
            (CAST(NULL AS INT))) AS t2(c2)
        ) AS t3
        WHERE
          t1.c1 > t3.c2
      )
      THEN TRUE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t4.c2 AS c2
          FROM (VALUES
            (1),
            (3),
            (CAST(NULL AS INT))) AS t4(c2)
        ) AS t5
        WHERE
          (
            t1.c1 > t5.c2
          ) IS NULL
      )
      THEN CAST(NULL AS BOOLEAN)
      ELSE FALSE
    END
  END AS c7,
  CASE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t6.c4 AS c4
        FROM (VALUES
          (3),
          (CAST(NULL AS INT))) AS t6(c4)
      ) AS t7
      WHERE
        t1.c1 > t7.c4
    )
    THEN TRUE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t8.c4 AS c4
        FROM (VALUES
          (3),
          (CAST(NULL AS INT))) AS t8(c4)
      ) AS t9
      WHERE
        (
          t1.c1 > t9.c4
        ) IS NULL
    )
    THEN CAST(NULL AS BOOLEAN)
    ELSE FALSE
  END AS c8,
  CASE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t10.c3 AS c5
        FROM (VALUES
          (1),
          (3)) AS t10(c3)
        WHERE
          FALSE
      ) AS t11
      WHERE
        NOT (
          t1.c1 > t11.c5
        )
    )
    THEN FALSE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t12.c3 AS c5
        FROM (VALUES
          (1),
          (3)) AS t12(c3)
        WHERE
          FALSE
      ) AS t13
      WHERE
        (
          t1.c1 > t13.c5
        ) IS NULL
    )
    THEN CAST(NULL AS BOOLEAN)
    ELSE TRUE
  END AS c9
FROM (VALUES
  (1),
  (2),
  (4)) AS t1(c1)

-- spark
SELECT
  t1.c1 AS c6,
  CASE
    WHEN t1.c1 = 1
    THEN FALSE
    ELSE CASE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t2.c2 AS c2
          FROM VALUES
            (1),
            (3),
            (CAST(NULL AS INT)) AS t2(c2)
        ) AS t3
        WHERE
          t1.c1 > t3.c2
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
            (3),
            (CAST(NULL AS INT)) AS t4(c2)
        ) AS t5
        WHERE
          (
            t1.c1 > t5.c2
          ) IS NULL
      )
      THEN CAST(NULL AS BOOLEAN)
      ELSE FALSE
    END
  END AS c7,
  CASE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t6.c4 AS c4
        FROM VALUES
          (3),
          (CAST(NULL AS INT)) AS t6(c4)
      ) AS t7
      WHERE
        t1.c1 > t7.c4
    )
    THEN TRUE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t8.c4 AS c4
        FROM VALUES
          (3),
          (CAST(NULL AS INT)) AS t8(c4)
      ) AS t9
      WHERE
        (
          t1.c1 > t9.c4
        ) IS NULL
    )
    THEN CAST(NULL AS BOOLEAN)
    ELSE FALSE
  END AS c8,
  CASE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t10.c3 AS c5
        FROM VALUES
          (1),
          (3) AS t10(c3)
        WHERE
          FALSE
      ) AS t11
      WHERE
        NOT (
          t1.c1 > t11.c5
        )
    )
    THEN FALSE
    WHEN EXISTS(
      SELECT
        1 AS one
      FROM (
        SELECT
          t12.c3 AS c5
        FROM VALUES
          (1),
          (3) AS t12(c3)
        WHERE
          FALSE
      ) AS t13
      WHERE
        (
          t1.c1 > t13.c5
        ) IS NULL
    )
    THEN CAST(NULL AS BOOLEAN)
    ELSE TRUE
  END AS c9
FROM VALUES
  (1),
  (2),
  (4) AS t1(c1)

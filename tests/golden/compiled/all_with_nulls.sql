-- local
SELECT
  t1.c1 AS c4,
  CASE
    WHEN t1.c1 = 3
    THEN CASE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t2.c3 AS c3
          FROM (VALUES
            (2),
            (CAST(NULL AS INT))) AS t2(c3)
        ) AS t3
        WHERE
          NOT (
            t1.c1 >= t3.c3
          )
      )
      THEN FALSE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t4.c3 AS c3
          FROM (VALUES
            (2),
            (CAST(NULL AS INT))) AS t4(c3)
        ) AS t5
        WHERE
          (
            t1.c1 >= t5.c3
          ) IS NULL
      )
      THEN CAST(NULL AS BOOLEAN)
      ELSE TRUE
    END
    ELSE CASE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t6.c2 AS c2
          FROM (VALUES
            (3),
            (2)) AS t6(c2)
        ) AS t7
        WHERE
          NOT (
            t1.c1 > t7.c2
          )
      )
      THEN FALSE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t8.c2 AS c2
          FROM (VALUES
            (3),
            (2)) AS t8(c2)
        ) AS t9
        WHERE
          (
            t1.c1 > t9.c2
          ) IS NULL
      )
      THEN CAST(NULL AS BOOLEAN)
      ELSE TRUE
    END
  END AS c5
FROM (VALUES
  (1),
  (3),
  (4)) AS t1(c1)

-- spark
SELECT
  t1.c1 AS c4,
  CASE
    WHEN t1.c1 = 3
    THEN CASE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t2.c3 AS c3
          FROM VALUES
            (2),
            (CAST(NULL AS INT)) AS t2(c3)
        ) AS t3
        WHERE
          NOT (
            t1.c1 >= t3.c3
          )
      )
      THEN FALSE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t4.c3 AS c3
          FROM VALUES
            (2),
            (CAST(NULL AS INT)) AS t4(c3)
        ) AS t5
        WHERE
          (
            t1.c1 >= t5.c3
          ) IS NULL
      )
      THEN CAST(NULL AS BOOLEAN)
      ELSE TRUE
    END
    ELSE CASE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t6.c2 AS c2
          FROM VALUES
            (3),
            (2) AS t6(c2)
        ) AS t7
        WHERE
          NOT (
            t1.c1 > t7.c2
          )
      )
      THEN FALSE
      WHEN EXISTS(
        SELECT
          1 AS one
        FROM (
          SELECT
            t8.c2 AS c2
          FROM VALUES
            (3),
            (2) AS t8(c2)
        ) AS t9
        WHERE
          (
            t1.c1 > t9.c2
          ) IS NULL
      )
      THEN CAST(NULL AS BOOLEAN)
      ELSE TRUE
    END
  END AS c5
FROM VALUES
  (1),
  (3),
  (4) AS t1(c1)

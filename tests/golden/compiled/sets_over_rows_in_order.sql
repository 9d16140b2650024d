-- local
SELECT
  t3.c2 AS c2,
  t3.c3 AS c3
FROM (
  SELECT
    t2.c2 AS c2,
    t2.c3 AS c3,
    ROW_NUMBER() OVER () AS place_
  FROM (
    SELECT
      UNNEST(GENERATE_SERIES(1, 2)) AS c2,
      t1.c1 AS c3
    FROM (VALUES
      (3),
      (1),
      (2)) AS t1(c1)
  ) AS t2
) AS t3
ORDER BY
  c3 NULLS LAST,
  t3.place_ NULLS LAST

-- spark
SELECT
  t4.c2 AS c2,
  t4.c3 AS c3
FROM (
  SELECT
    t3.s2 AS c2,
    t2.c1 AS c3,
    MONOTONICALLY_INCREASING_ID() AS place_
  FROM (
    SELECT
      t1.c1 AS c1
    FROM VALUES
      (3),
      (1),
      (2) AS t1(c1)
  ) AS t2
  CROSS JOIN LATERAL EXPLODE(COALESCE(SEQUENCE(1, 2), CAST(ARRAY() AS ARRAY<INT>))) AS t3(s2)
) AS t4
ORDER BY
  c3 NULLS LAST,
  t4.place_ NULLS LAST

-- local
SELECT
  t2.c3 AS c3,
  t2.c4 AS c4,
  t2.c5 AS c5
FROM (
  SELECT
    UNNEST(GENERATE_SERIES(1, t1.c2)) AS c3,
    UNNEST(GENERATE_SERIES(1, 1)) AS c4,
    t1.c1 AS c5
  FROM (VALUES
    ('x', 2),
    ('y', 1)) AS t1(c1, c2)
) AS t2

-- spark
SELECT
  t3.s3 AS c3,
  t3.s4 AS c4,
  t2.c1 AS c5
FROM (
  SELECT
    t1.c1 AS c1,
    t1.c2 AS c2
  FROM VALUES
    ('x', 2),
    ('y', 1) AS t1(c1, c2)
) AS t2
CROSS JOIN LATERAL INLINE(
  ARRAYS_ZIP(
    COALESCE(SEQUENCE(1, t2.c2), CAST(ARRAY() AS ARRAY<INT>)),
    COALESCE(SEQUENCE(1, 1), CAST(ARRAY() AS ARRAY<INT>))
  )
) AS t3(s3, s4)

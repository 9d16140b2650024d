-- local
SELECT
  t1.c1 AS c1,
  t3.c2 AS c2
FROM (VALUES
  (0),
  (1),
  (2)) AS t1(c1)
LEFT JOIN LATERAL (
  SELECT
    t2.f0 AS c2
  FROM (
    SELECT
      UNNEST(GENERATE_SERIES(1, t1.c1)) AS f0
  ) AS t2
  WHERE
    t2.f0 = t1.c1 AND t1.c1 > 1
) AS t3
  ON TRUE

-- spark
SELECT
  t1.c1 AS c1,
  t3.c2 AS c2
FROM VALUES
  (0),
  (1),
  (2) AS t1(c1)
LEFT JOIN LATERAL (
  SELECT
    t2.f0 AS c2
  FROM EXPLODE(
    CASE WHEN 1 <= t1.c1 THEN SEQUENCE(1, t1.c1) ELSE CAST(ARRAY() AS ARRAY<INT>) END
  ) AS t2(f0)
  WHERE
    t2.f0 = t1.c1 AND t1.c1 > 1
) AS t3
  ON TRUE

-- local
SELECT
  t1.f0 AS c1,
  t1.ordinality AS c2
FROM (
  SELECT
    UNNEST(CAST([7, 8] AS INT[])) AS f0,
    UNNEST(
      RANGE(CAST(1 AS BIGINT), CAST(COALESCE(LEN(CAST([7, 8] AS INT[])), 0) AS BIGINT) + 1)
    ) AS ordinality
) AS t1

-- spark
SELECT
  t1.f0 AS c1,
  t1.ordinality AS c2
FROM INLINE(
  ARRAYS_ZIP(
    COALESCE(CAST(ARRAY(7, 8) AS ARRAY<INT>), CAST(ARRAY() AS ARRAY<INT>)),
    TRANSFORM(
      ARRAY_REPEAT(0, COALESCE(SIZE(CAST(ARRAY(7, 8) AS ARRAY<INT>)), 0)),
      (x, i) -> CAST(i + 1 AS BIGINT)
    )
  )
) AS t1(f0, ordinality)

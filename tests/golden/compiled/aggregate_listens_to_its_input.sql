-- local
SELECT
  LIST(t2.c1 ORDER BY t2.c1 DESC NULLS FIRST) AS c4
FROM (
  SELECT
    CAST(t1."id" AS BIGINT) AS c1
  FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
  ORDER BY
    c1 DESC NULLS FIRST
  LIMIT 3
) AS t2

-- spark
SELECT
  CASE
    WHEN SIZE(COLLECT_LIST(NAMED_STRUCT('k0', t2.c1, 'v', t2.c1))) = 0
    THEN CAST(NULL AS ARRAY<BIGINT>)
    ELSE TRANSFORM(
      ARRAY_SORT(
        COLLECT_LIST(NAMED_STRUCT('k0', t2.c1, 'v', t2.c1)),
        (l, r) -> CASE
          WHEN l.k0 IS NULL AND NOT (
            r.k0 IS NULL
          )
          THEN -1
          WHEN NOT (
            l.k0 IS NULL
          ) AND r.k0 IS NULL
          THEN 1
          WHEN l.k0 < r.k0
          THEN 1
          WHEN l.k0 > r.k0
          THEN -1
          ELSE 0
        END
      ),
      s -> s.v
    )
  END AS c4
FROM (
  SELECT
    t1.`id` AS c1
  FROM sluice_17033_1 AS t1
  ORDER BY
    c1 DESC NULLS FIRST
  LIMIT 3
) AS t2

-- local
SELECT
  LIST(CAST(t1."name" AS TEXT) ORDER BY CAST(t1."id" AS BIGINT) DESC NULLS FIRST) FILTER(WHERE
    CAST(t1."id" AS BIGINT) IN (4, 5)) AS c4,
  STRING_AGG(CAST(t1."name" AS TEXT), ';' ORDER BY CAST(t1."id" AS BIGINT) DESC NULLS FIRST) FILTER(WHERE
    CAST(t1."id" AS BIGINT) IN (4, 5)) AS c5,
  PERCENTILE_DISC(CAST('0.5' AS DOUBLE)) WITHIN GROUP (ORDER BY
    CAST(t1."id" AS BIGINT) DESC NULLS FIRST) AS c6
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1

-- spark
SELECT
  CASE
    WHEN SIZE(
      COLLECT_LIST(NAMED_STRUCT('k0', t1.`id`, 'v', t1.`name`)) FILTER(WHERE
        t1.`id` IN (4, 5))
    ) = 0
    THEN CAST(NULL AS ARRAY<STRING>)
    ELSE TRANSFORM(
      ARRAY_SORT(
        COLLECT_LIST(NAMED_STRUCT('k0', t1.`id`, 'v', t1.`name`)) FILTER(WHERE
          t1.`id` IN (4, 5)),
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
  END AS c4,
  CASE
    WHEN SIZE(
      COLLECT_LIST(NAMED_STRUCT('k0', t1.`id`, 'v', t1.`name`)) FILTER(WHERE
        t1.`id` IN (4, 5) AND NOT t1.`name` IS NULL)
    ) = 0
    THEN CAST(NULL AS STRING)
    ELSE ARRAY_JOIN(
      TRANSFORM(
        ARRAY_SORT(
          COLLECT_LIST(NAMED_STRUCT('k0', t1.`id`, 'v', t1.`name`)) FILTER(WHERE
            t1.`id` IN (4, 5) AND NOT t1.`name` IS NULL),
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
      ),
      COALESCE(';', '')
    )
  END AS c5,
  PERCENTILE_DISC(CAST('0.5' AS DOUBLE)) WITHIN GROUP (ORDER BY
    t1.`id` DESC NULLS FIRST) AS c6
FROM sluice_17033_1 AS t1

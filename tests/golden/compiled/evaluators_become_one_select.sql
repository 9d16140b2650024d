-- local
SELECT
  CAST(t1."id" AS BIGINT) + 1 AS c5
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
WHERE
  CAST(t1."id" AS BIGINT) < 4 AND (
    CAST(t1."id" AS BIGINT) + 1
  ) <> 3

-- spark
SELECT
  t1.`id` + 1 AS c5
FROM sluice_17033_1 AS t1
WHERE
  t1.`id` < 4 AND (
    t1.`id` + 1
  ) <> 3

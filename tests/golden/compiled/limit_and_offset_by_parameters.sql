-- local
SELECT
  CAST(t1."id" AS BIGINT) AS c1
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
ORDER BY
  c1 NULLS LAST
LIMIT 2
OFFSET 1

-- spark
SELECT
  t1.`id` AS c1
FROM sluice_17033_1 AS t1
ORDER BY
  c1 NULLS LAST
LIMIT 2
OFFSET 1

-- local
SELECT
  CAST(t1."region" AS BIGINT) AS c3
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
ORDER BY
  c3 DESC NULLS FIRST
LIMIT 3

-- spark
SELECT
  t1.`region` AS c3
FROM sluice_17033_1 AS t1
ORDER BY
  c3 DESC NULLS FIRST
LIMIT 3

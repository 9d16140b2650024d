-- local
SELECT
  CAST(t1."region" AS BIGINT) AS c6,
  COUNT(*) * 2 AS c7
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
GROUP BY
  CAST(t1."region" AS BIGINT)
HAVING
  COUNT(*) > 1

-- spark
SELECT
  t1.`region` AS c6,
  COUNT(*) * 2 AS c7
FROM sluice_17033_1 AS t1
GROUP BY
  t1.`region`
HAVING
  COUNT(*) > 1

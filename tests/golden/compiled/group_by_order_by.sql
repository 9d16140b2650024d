-- local
SELECT
  CAST(t1."region" AS BIGINT) AS c4,
  COUNT(*) AS c5,
  CAST(SUM(CAST(t1."id" AS BIGINT)) AS BIGINT) AS c6
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
GROUP BY
  CAST(t1."region" AS BIGINT)
ORDER BY
  c4 NULLS LAST

-- spark
SELECT
  t1.`region` AS c4,
  COUNT(*) AS c5,
  CAST(SUM(t1.`id`) AS BIGINT) AS c6
FROM sluice_17033_1 AS t1
GROUP BY
  t1.`region`
ORDER BY
  c4 NULLS LAST

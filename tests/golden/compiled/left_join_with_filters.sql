-- local
SELECT
  CAST(t1."name" AS TEXT) AS c6,
  CAST(t2."name" AS TEXT) AS c7
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
LEFT JOIN READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
  ON CAST(t1."region" AS BIGINT) = CAST(t2."id" AS BIGINT)
WHERE
  CAST(t1."id" AS BIGINT) >= 5

-- spark
SELECT
  t1.`name` AS c6,
  t2.`name` AS c7
FROM sluice_17033_1 AS t1
LEFT JOIN sluice_17028_1 AS t2
  ON t1.`region` = t2.`id`
WHERE
  t1.`id` >= 5

-- local
SELECT
  CAST(t1."name" AS TEXT) AS c4,
  CAST(t1."id" AS BIGINT) AS c5
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
WHERE
  CAST(t1."region" AS BIGINT) >= 2

-- spark
SELECT
  t1.`name` AS c4,
  t1.`id` AS c5
FROM sluice_17033_1 AS t1
WHERE
  t1.`region` >= 2

-- local
SELECT
  CAST(t1."name" AS TEXT) AS c7,
  (
    SELECT
      COUNT(*) AS c6
    FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
    WHERE
      CAST(t2."region" AS BIGINT) = CAST(t1."id" AS BIGINT)
  ) AS c8
FROM READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1

-- spark
SELECT
  t1.`name` AS c7,
  (
    SELECT
      COUNT(*) AS c6
    FROM sluice_17033_1 AS t2
    WHERE
      t2.`region` = t1.`id`
  ) AS c8
FROM sluice_17028_1 AS t1

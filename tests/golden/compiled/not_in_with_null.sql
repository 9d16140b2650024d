-- local
SELECT
  CAST(t1."name" AS TEXT) AS c7
FROM READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
WHERE
  NOT (
    CAST(t1."id" AS BIGINT) IN (
      SELECT
        CAST(t2."region" AS BIGINT) AS c6
      FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
    )
  )

-- spark
SELECT
  t1.`name` AS c7
FROM sluice_17028_1 AS t1
WHERE
  NOT (
    t1.`id` IN (
      SELECT
        t2.`region` AS c6
      FROM sluice_17033_1 AS t2
    )
  )

-- local
SELECT
  CAST(t1."name" AS TEXT) AS c8,
  t3.c7 AS c9
FROM READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
CROSS JOIN LATERAL (
  SELECT
    COUNT(*) AS c7
  FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
  WHERE
    CAST(t2."region" AS BIGINT) = CAST(t1."id" AS BIGINT)
) AS t3

-- spark
SELECT
  t1.`name` AS c8,
  t3.c7 AS c9
FROM sluice_17028_1 AS t1
CROSS JOIN LATERAL (
  SELECT
    COUNT(*) AS c7
  FROM sluice_17033_1 AS t2
  WHERE
    t2.`region` = t1.`id`
) AS t3

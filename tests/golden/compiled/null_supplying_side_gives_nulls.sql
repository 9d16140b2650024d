-- local
SELECT
  CAST(t1."id" AS BIGINT) AS c8,
  t3.c7 AS c9
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
LEFT JOIN (
  SELECT
    CAST(t2."id" AS BIGINT) AS c6,
    1 AS c7
  FROM READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
  WHERE
    CAST(t2."id" AS BIGINT) < 3
) AS t3
  ON CAST(t1."id" AS BIGINT) = t3.c6 AND CAST(t1."id" AS BIGINT) < 3

-- spark
SELECT
  t1.`id` AS c8,
  t3.c7 AS c9
FROM sluice_17033_1 AS t1
LEFT JOIN (
  SELECT
    t2.`id` AS c6,
    1 AS c7
  FROM sluice_17028_1 AS t2
  WHERE
    t2.`id` < 3
) AS t3
  ON t1.`id` = t3.c6 AND t1.`id` < 3

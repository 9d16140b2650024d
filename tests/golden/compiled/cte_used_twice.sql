-- local
WITH w1(c6, c7) AS (
  SELECT
    CAST(t2."name" AS TEXT) AS c6,
    CAST(t1."id" AS BIGINT) AS c7
  FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
  JOIN READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
    ON CAST(t1."region" AS BIGINT) = CAST(t2."id" AS BIGINT)
  WHERE
    CAST(t2."name" AS TEXT) = 'AFRICA'
)
SELECT
  t3.c6 AS c12,
  t4.c7 AS c13
FROM w1 AS t3
JOIN w1 AS t4
  ON t3.c7 = t4.c7

-- spark
WITH w1(c6, c7) AS (
  SELECT
    t2.`name` AS c6,
    t1.`id` AS c7
  FROM sluice_17033_1 AS t1
  JOIN sluice_17028_1 AS t2
    ON t1.`region` = t2.`id`
  WHERE
    t2.`name` = 'AFRICA'
)
SELECT
  t3.c6 AS c12,
  t4.c7 AS c13
FROM w1 AS t3
JOIN w1 AS t4
  ON t3.c7 = t4.c7

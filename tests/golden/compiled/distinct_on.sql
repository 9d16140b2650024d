-- local
SELECT
  t3.c5 AS c6,
  t3.c1 AS c7
FROM (
  SELECT
    CAST(t1."id" AS BIGINT) AS c1,
    CAST(t1."name" AS TEXT) AS c2,
    CAST(t1."region" AS BIGINT) AS c3,
    CAST(t2."id" AS BIGINT) AS c4,
    CAST(t2."name" AS TEXT) AS c5,
    ROW_NUMBER() OVER (
      PARTITION BY CAST(t2."name" AS TEXT)
      ORDER BY CAST(t2."name" AS TEXT) NULLS LAST, CAST(t1."id" AS BIGINT) NULLS LAST
    ) AS number_
  FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
  JOIN READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
    ON CAST(t1."region" AS BIGINT) = CAST(t2."id" AS BIGINT)
) AS t3
WHERE
  t3.number_ = 1
ORDER BY
  c6 NULLS LAST

-- spark
SELECT
  t3.c5 AS c6,
  t3.c1 AS c7
FROM (
  SELECT
    t1.`id` AS c1,
    t1.`name` AS c2,
    t1.`region` AS c3,
    t2.`id` AS c4,
    t2.`name` AS c5,
    ROW_NUMBER() OVER (PARTITION BY t2.`name` ORDER BY t2.`name` NULLS LAST, t1.`id` NULLS LAST) AS number_
  FROM sluice_17033_1 AS t1
  JOIN sluice_17028_1 AS t2
    ON t1.`region` = t2.`id`
) AS t3
WHERE
  t3.number_ = 1
ORDER BY
  c6 NULLS LAST

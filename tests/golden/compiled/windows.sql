-- local
SELECT
  t2.c2 AS c7,
  t2.c4 AS c8,
  t2.c5 AS c9,
  t2.c6 AS c10
FROM (
  SELECT
    CAST(t1."id" AS BIGINT) AS c1,
    CAST(t1."name" AS TEXT) AS c2,
    CAST(t1."region" AS BIGINT) AS c3,
    ROW_NUMBER() OVER (
      PARTITION BY CAST(t1."region" AS BIGINT)
      ORDER BY CAST(t1."id" AS BIGINT) NULLS LAST
    ) AS c4,
    CAST(SUM(CAST(t1."id" AS BIGINT)) OVER (
      PARTITION BY CAST(t1."region" AS BIGINT)
      ORDER BY CAST(t1."id" AS BIGINT) NULLS LAST
      ROWS BETWEEN (
        CAST(1 AS BIGINT)
      ) PRECEDING AND CURRENT ROW
    ) AS BIGINT) AS c5,
    LAG(CAST(t1."id" AS BIGINT)) OVER (
      PARTITION BY CAST(t1."region" AS BIGINT)
      ORDER BY CAST(t1."id" AS BIGINT) NULLS LAST
    ) AS c6
  FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
) AS t2
WHERE
  t2.c3 = 0

-- spark
SELECT
  t2.c2 AS c7,
  t2.c4 AS c8,
  t2.c5 AS c9,
  t2.c6 AS c10
FROM (
  SELECT
    t1.`id` AS c1,
    t1.`name` AS c2,
    t1.`region` AS c3,
    CAST(ROW_NUMBER() OVER (PARTITION BY t1.`region` ORDER BY t1.`id` NULLS LAST) AS BIGINT) AS c4,
    CAST(SUM(t1.`id`) OVER (
      PARTITION BY t1.`region`
      ORDER BY t1.`id` NULLS LAST
      ROWS BETWEEN 1 PRECEDING AND CURRENT ROW
    ) AS BIGINT) AS c5,
    LAG(t1.`id`) OVER (PARTITION BY t1.`region` ORDER BY t1.`id` NULLS LAST) AS c6
  FROM sluice_17033_1 AS t1
) AS t2
WHERE
  t2.c3 = 0

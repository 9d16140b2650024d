-- local
SELECT
  COUNT(*) AS c4,
  COUNT(CAST(t1."region" AS BIGINT)) AS c5,
  COUNT(*) FILTER(WHERE
    CAST(t1."id" AS BIGINT) < 4) AS c6,
  COUNT(DISTINCT CAST(t1."region" AS BIGINT)) FILTER(WHERE
    CAST(t1."id" AS BIGINT) IN (1, 5, 6)) AS c7
FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1

-- spark
SELECT
  COUNT(*) AS c4,
  COUNT(t1.`region`) AS c5,
  COUNT(*) FILTER(WHERE
    t1.`id` < 4) AS c6,
  COUNT(DISTINCT t1.`region`) FILTER(WHERE
    t1.`id` IN (1, 5, 6)) AS c7
FROM sluice_17033_1 AS t1

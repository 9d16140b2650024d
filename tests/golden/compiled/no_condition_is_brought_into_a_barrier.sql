-- local
SELECT
  t2.c4 AS c5
FROM (
  SELECT
    CAST(t1."id" AS BIGINT) AS c4
  FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
  WHERE
    CAST(t1."id" AS BIGINT) > 2
) AS t2 TABLESAMPLE BERNOULLI (100 PERCENT)
WHERE
  (
    9 // (
      t2.c4 + (
        -1
      )
    )
  ) > 0

-- spark
SELECT
  t2.c4 AS c5
FROM (
  SELECT
    t1.`id` AS c4
  FROM sluice_17033_1 AS t1
  WHERE
    t1.`id` > 2
) TABLESAMPLE (100 PERCENT) AS t2
WHERE
  (
    9 DIV (
      t2.c4 + (
        -1
      )
    )
  ) > 0

-- local
SELECT
  CAST(t1."name" AS TEXT) AS c7,
  CAST(ARRAY(
    SELECT
      CAST(t2."name" AS TEXT) AS c6
    FROM READ_PARQUET(['/data/nation.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t2
    WHERE
      CAST(t2."region" AS BIGINT) = CAST(t1."id" AS BIGINT)
  ) AS TEXT[]) AS c8
FROM READ_PARQUET(['/data/region.parquet'], hive_partitioning = FALSE, can_have_nan = TRUE) AS t1
WHERE
  CAST(t1."id" AS BIGINT) IN (0, 4)

-- spark
SELECT
  t1.`name` AS c7,
  (
    SELECT
      CAST(TRANSFORM(COLLECT_LIST(NAMED_STRUCT('v', t3.c6)), s -> s.v) AS ARRAY<STRING>) AS k0
    FROM (
      SELECT
        t2.`name` AS c6
      FROM sluice_17033_1 AS t2
      WHERE
        t2.`region` = t1.`id`
    ) AS t3
  ) AS c8
FROM sluice_17028_1 AS t1
WHERE
  t1.`id` IN (0, 4)

-- local
SELECT
  1 IN (CAST(NULL AS INT), 1) AS c1,
  1 IN (CAST(NULL AS INT), 2) AS c2,
  (
    1 = 1 AND 2 = CAST(NULL AS INT)
  ) OR (
    1 = 1 AND 2 = 2
  ) AS c3,
  1 = 1 AND 2 = CAST(NULL AS INT) AS c4

-- spark
SELECT
  1 IN (CAST(NULL AS INT), 1) AS c1,
  1 IN (CAST(NULL AS INT), 2) AS c2,
  (
    1 = 1 AND 2 = CAST(NULL AS INT)
  ) OR (
    1 = 1 AND 2 = 2
  ) AS c3,
  1 = 1 AND 2 = CAST(NULL AS INT) AS c4

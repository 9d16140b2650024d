-- local
SELECT
  COUNT(*) AS c4,
  'x' AS c5
WHERE
  FALSE

-- spark
SELECT
  COUNT(*) AS c4,
  'x' AS c5
WHERE
  FALSE

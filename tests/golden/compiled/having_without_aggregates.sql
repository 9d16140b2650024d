-- local
SELECT
  'one' AS c2
WHERE
  FALSE
HAVING
  COUNT(*) >= 0

-- spark
SELECT
  'one' AS c2
WHERE
  FALSE
HAVING
  COUNT(*) >= 0

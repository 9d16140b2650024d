-- local
SELECT
  RTRIM('a  ') IN (RTRIM('a')) AS c1,
  RTRIM('a  ') IS NOT DISTINCT FROM RTRIM('a') AS c2,
  RTRIM('a  ') IS DISTINCT FROM RTRIM('a') AS c3

-- spark
SELECT
  RTRIM('a  ') IN (RTRIM('a')) AS c1,
  RTRIM('a  ') IS NOT DISTINCT FROM RTRIM('a') AS c2,
  RTRIM('a  ') IS DISTINCT FROM RTRIM('a') AS c3

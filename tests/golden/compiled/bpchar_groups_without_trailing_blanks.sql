-- local
SELECT
  CASE WHEN RTRIM(ANY_VALUE(t1.c1)) IN (RTRIM('a')) THEN 'a' END AS c4,
  COUNT(*) AS c5
FROM (VALUES
  ('a'),
  ('a ')) AS t1(c1)
GROUP BY
  RTRIM(t1.c1)

-- spark
SELECT
  CASE WHEN RTRIM(ANY_VALUE(t1.c1)) IN (RTRIM('a')) THEN 'a' END AS c4,
  COUNT(*) AS c5
FROM VALUES
  ('a'),
  ('a ') AS t1(c1)
GROUP BY
  RTRIM(t1.c1)

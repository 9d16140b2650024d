-- local
SELECT
  t2.c1 AS c1
FROM (
  SELECT
    t1.c1 AS c1,
    RANK() OVER (ORDER BY t1.c1 NULLS LAST) AS rank_,
    ROW_NUMBER() OVER (ORDER BY t1.c1 NULLS LAST) AS number_
  FROM (VALUES
    (3),
    (2),
    (2),
    (1),
    (2)) AS t1(c1)
) AS t2
WHERE
  t2.rank_ <= 1 + 1 AND t2.number_ > 1
ORDER BY
  c1 NULLS LAST

-- spark
SELECT
  t2.c1 AS c1
FROM (
  SELECT
    t1.c1 AS c1,
    RANK() OVER (ORDER BY t1.c1 NULLS LAST) AS rank_,
    ROW_NUMBER() OVER (ORDER BY t1.c1 NULLS LAST) AS number_
  FROM VALUES
    (3),
    (2),
    (2),
    (1),
    (2) AS t1(c1)
) AS t2
WHERE
  t2.rank_ <= 1 + 1 AND t2.number_ > 1
ORDER BY
  c1 NULLS LAST

-- Counts the claims behind the claim in_counted of the name in_after, in the order of names and tokens: so many claims at
-- most, living or not, of so many names, so that no queue keeps a session for long; the next call counts on. No row means
-- that there are no more. With in_idle, the names behind in_after instead. One statement, and so of one moment, without
-- a lock.
--
-- Out: of each name, what was counted: who holds, all, the first that holds, and the last token
CREATE PROCEDURE IF NOT EXISTS {list_part}(
  in_idle BOOLEAN, in_after VARBINARY(512), in_counted BIGINT, in_names INT, in_most INT)
  READS SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_now BIGINT DEFAULT UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;
  IF in_idle THEN
    SELECT name, token, capacity, 0 AS holders, 0 AS living, NULL AS weight, NULL AS held_for, NULL AS metadata,
           NULL AS holder_token, 0 AS upto
      FROM {locks} FORCE INDEX (PRIMARY) WHERE name > in_after ORDER BY name LIMIT in_names;
  ELSE
    SELECT g.name, g.token, g.capacity, g.holders, g.living, f.weight, v_now - f.since AS held_for,
           LEFT(f.metadata, 15000) AS metadata, f.token AS holder_token, g.upto
      FROM (SELECT p.name, MAX(l.token) AS token, MAX(l.capacity) AS capacity,
                   CAST(SUM(p.is_living AND p.token <= l.granted) AS SIGNED) AS holders,
                   CAST(SUM(p.is_living) AS SIGNED) AS living,
                   MIN(IF(p.is_living AND p.token <= l.granted, p.token, NULL)) AS first, MAX(p.token) AS upto
              FROM (SELECT c.name, c.token, c.expires > v_now AND NOT {GONE c} AS is_living
                      FROM {claims} AS c FORCE INDEX (PRIMARY)
                     WHERE c.name > in_after OR (c.name = in_after AND c.token > in_counted)
                     ORDER BY c.name, c.token LIMIT in_most) AS p
              LEFT JOIN {locks} AS l FORCE INDEX (PRIMARY) ON l.name = p.name
             GROUP BY p.name ORDER BY p.name LIMIT in_names) AS g
      LEFT JOIN {claims} AS f FORCE INDEX (PRIMARY) ON f.name = g.name AND f.token = g.first
     ORDER BY g.name;
  END IF;
END

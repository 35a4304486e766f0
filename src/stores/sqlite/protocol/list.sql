-- Counts the claims behind the claim `token` of the name `name`, in the order of names and tokens. With idle, the names
-- behind `name` instead. No row: there are no more.
--
-- In:  idle, name, token, most: how many names, limit: how many claims, living or not
-- Out: of each name, what was counted: who holds, all, the first that holds, and the last token

-- list
SELECT g.name, g.token, g.capacity, g.holders, g.living,
       f.weight, :now - f.since AS held_for, f.metadata, f.token AS holder_token, g.upto
  FROM (SELECT p.name, max(l.token) AS token, max(l.capacity) AS capacity,
               count(*) FILTER (WHERE p.expires > :now AND p.token <= l.granted) AS holders,
               count(*) FILTER (WHERE p.expires > :now) AS living,
               min(p.token) FILTER (WHERE p.expires > :now AND p.token <= l.granted) AS first, max(p.token) AS upto
          FROM (SELECT c.name, c.token, c.expires FROM {claims} c
                 WHERE (c.name, c.token) > (:name, :token) AND NOT :idle
                 ORDER BY c.name, c.token LIMIT :limit) p
          LEFT JOIN {locks} l ON l.name = p.name
         GROUP BY p.name ORDER BY p.name LIMIT :most) g
  LEFT JOIN {claims} f ON f.name = g.name AND f.token = g.first
UNION ALL
SELECT * FROM (SELECT name, token, capacity, 0, 0, NULL, NULL, NULL, NULL, 0 FROM {locks}
                WHERE :idle AND name > :name ORDER BY name LIMIT :most) n
 ORDER BY 1;

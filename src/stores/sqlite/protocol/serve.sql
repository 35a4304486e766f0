-- Hand a name on: grant it to as many of the first waiters as now fit together, and tell exactly those.
-- Runs after whatever freed capacity. Dead claims are passed over, and deleted once they have been.
-- What it does not do is look at the waiters behind: the recursion ends at the first who does not fit, so
-- the cost does not grow with the queue.
--
-- In: name

-- next
WITH RECURSIVE served (token, weight, capacity) AS (
  SELECT l.granted,
         (SELECT coalesce(sum(h.weight), 0) FROM {claims} h
           WHERE h.name = :name AND h.token <= l.granted AND h.expires > :now),
         l.capacity
    FROM {locks} l
   WHERE l.name = :name AND l.token > l.granted
  UNION ALL
  SELECT c.token, s.weight + c.weight, s.capacity
    FROM served s
    JOIN {claims} c
      ON c.name = :name
     AND c.token = (SELECT w.token FROM {claims} w
                     WHERE w.name = :name AND w.token > s.token AND w.expires > :now
                     ORDER BY w.token LIMIT 1)
   WHERE s.weight + c.weight <= s.capacity
)
SELECT min(token) AS after, max(token) AS upto FROM served HAVING count(*) > 1;

-- grant
UPDATE {locks} SET granted = :upto WHERE name = :name;

-- mark
UPDATE {claims}
   SET since = :now
 WHERE name = :name AND token > :after AND token <= :upto AND expires > :now;

-- tell
SELECT client, owner, token
  FROM {claims}
 WHERE name = :name AND token > :after AND token <= :upto AND expires > :now;

-- bury?
DELETE FROM {claims}
 WHERE name = :name AND expires <= :now
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

-- One row a name that is held or waited for; with idle, every name.
--
-- In: idle

-- list
SELECT l.name, l.token, l.capacity,
       (SELECT count(*) FROM {claims} h
         WHERE h.name = l.name AND h.token <= l.granted AND h.expires > :now) AS holders,
       (SELECT count(*) FROM {claims} w
         WHERE w.name = l.name AND w.token > l.granted AND w.expires > :now) AS waiters,
       f.weight, :now - f.since AS held_for, f.metadata, f.token AS holder_token
  FROM {locks} l
  LEFT JOIN {claims} f
    ON f.name = l.name
   AND f.token = (SELECT min(c.token) FROM {claims} c
                   WHERE c.name = l.name AND c.token <= l.granted AND c.expires > :now)
 WHERE :idle OR EXISTS (SELECT 1 FROM {claims} c WHERE c.name = l.name AND c.expires > :now)
 ORDER BY l.name;

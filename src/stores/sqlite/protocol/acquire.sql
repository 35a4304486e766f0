-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- In:  name, owner, client, weight, capacity, ttl, metadata, wait
-- Out: outcome (0 a place, 1 refused, 2 in use with the capacity in `token`), token, granted, head (nobody waits before
--      it), holder_left (until the first of the holders expires), dead (expired holds to bury)
-- Ends at capacity: the name has never been used; see open.sql. Ends at draw: nothing was written.

-- capacity
SELECT CASE WHEN f.other IS NOT NULL THEN 2 WHEN :wait OR f.fits THEN 0 ELSE 1 END AS outcome,
       coalesce(f.other, f.token) AS token, f.fits AS granted, f.head, f.holder_left, f.dead
  FROM (SELECT q.*, q.head AND q.held + :weight <= :capacity AS fits
          FROM (SELECT max(l.token + 1, :floor) AS token,
                       NOT EXISTS (SELECT 1 FROM {claims} w
                                    WHERE w.name = :name AND w.token > l.granted AND w.expires > :now) AS head,
                       coalesce(sum(CASE WHEN h.expires > :now THEN h.weight END), 0) AS held,
                       min(CASE WHEN h.expires > :now THEN h.expires END) - :now AS holder_left,
                       coalesce(sum(h.expires <= :now), 0) AS dead,
                       CASE WHEN l.capacity <> :capacity
                             AND EXISTS (SELECT 1 FROM {claims} c WHERE c.name = :name AND c.expires > :now)
                            THEN l.capacity END AS other
                  FROM {locks} l
                  LEFT JOIN {claims} h ON h.name = l.name AND h.token <= l.granted
                 WHERE l.name = :name
                 GROUP BY l.name) q) f;

-- draw
UPDATE {locks}
   SET token = :token, granted = CASE WHEN :granted THEN :token ELSE granted END, capacity = :capacity
 WHERE name = :name AND :outcome = 0;

-- enter
INSERT INTO {claims} (name, token, owner, client, weight, ttl, expires, since, metadata)
VALUES (:name, :token, :owner, :client, :weight, :ttl, :now + :ttl, :now, :metadata);

-- bury?
DELETE FROM {claims}
 WHERE :dead AND name = :name AND expires <= :now
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

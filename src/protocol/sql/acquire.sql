-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- In:  name, owner, client, weight, capacity, ttl, metadata, wait
-- Out: token, fits (granted at once), other (in use with that capacity), head (nobody waits before it),
--      holder_left (until the first of the holders expires), dead (expired holds to bury)
-- Ends at room: the name has never been used; see open.sql. Ends at draw: refused; nothing was written.

-- room
SELECT token, head AND :weight + held <= :capacity AS fits, other, head, holder_left, dead
  FROM (SELECT max(l.token + 1, :floor) AS token,
               NOT EXISTS (SELECT 1 FROM {claims} w
                            WHERE w.name = :name AND w.token > l.granted AND w.expires > :now) AS head,
               CASE WHEN l.capacity <> :capacity
                     AND EXISTS (SELECT 1 FROM {claims} c WHERE c.name = :name AND c.expires > :now)
                    THEN l.capacity END AS other,
               h.held, h.holder_left, h.dead
          FROM {locks} l,
               (SELECT coalesce(sum(CASE WHEN c.expires > :now THEN c.weight END), 0) AS held,
                       min(CASE WHEN c.expires > :now THEN c.expires END) - :now AS holder_left,
                       coalesce(sum(c.expires <= :now), 0) AS dead
                  FROM {claims} c
                 WHERE c.name = :name
                   AND c.token <= (SELECT granted FROM {locks} WHERE name = :name)) h
         WHERE l.name = :name);

-- draw
UPDATE {locks}
   SET token = :token,
       granted = CASE WHEN :fits THEN :token ELSE granted END,
       capacity = :capacity
 WHERE name = :name AND :other IS NULL AND (:fits OR :wait);

-- enter
INSERT INTO {claims} (name, token, owner, client, weight, ttl, expires, since, metadata)
VALUES (:name, :token, :owner, :client, :weight, :ttl, :now + :ttl, :now, :metadata);

-- bury?
DELETE FROM {claims}
 WHERE :dead AND name = :name AND expires <= :now
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- In:  name, owner, client, weight, capacity, ttl, metadata, wait
-- Out: token, fits (granted at once), other (in use with that capacity), head, holder_left
-- Ends at draw: refused; nothing was written.

-- open?
INSERT INTO {locks} (name, token, granted, capacity)
VALUES (:name, 0, 0, :capacity)
ON CONFLICT (name) DO NOTHING;

-- room
SELECT max(l.token + 1, :floor) AS token,
       NOT EXISTS (SELECT 1 FROM {claims} w
                    WHERE w.name = :name AND w.token > l.granted AND w.expires > :now)
         AND :weight + (SELECT coalesce(sum(h.weight), 0) FROM {claims} h
                         WHERE h.name = :name AND h.token <= l.granted AND h.expires > :now)
             <= :capacity AS fits,
       CASE WHEN l.capacity <> :capacity
             AND EXISTS (SELECT 1 FROM {claims} c WHERE c.name = :name AND c.expires > :now)
            THEN l.capacity END AS other,
       NOT EXISTS (SELECT 1 FROM {claims} w
                    WHERE w.name = :name AND w.token > l.granted AND w.expires > :now) AS head,
       (SELECT min(h.expires) - :now FROM {claims} h
         WHERE h.name = :name AND h.token <= l.granted AND h.expires > :now) AS holder_left
  FROM {locks} l
 WHERE l.name = :name;

-- draw
UPDATE {locks}
   SET token = :token,
       granted = CASE WHEN :fits THEN :token ELSE granted END,
       capacity = :capacity
 WHERE name = :name AND :other IS NULL AND (:fits OR :wait);

-- enter
INSERT INTO {claims} (name, token, owner, client, weight, ttl, expires, since, metadata)
VALUES (:name, :token, :owner, :client, :weight, :ttl, :now + :ttl, :now, :metadata);

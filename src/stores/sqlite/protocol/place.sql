-- Where a claim stands.
--
-- In:  name, token
-- Out: token, granted, head (nobody waits before it), holder_left (until the first of the holders expires)

-- place
SELECT :token AS token, l.granted >= :token AS granted,
       NOT EXISTS (SELECT 1 FROM {claims} w
                    WHERE w.name = :name AND w.token > l.granted AND w.token < :token
                      AND w.expires > :now) AS head,
       (SELECT min(h.expires) - :now FROM {claims} h
         WHERE h.name = :name AND h.token <= l.granted AND h.expires > :now) AS holder_left
  FROM {locks} l
 WHERE l.name = :name;

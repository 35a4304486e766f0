-- A name with its living claims, all holders and the first waiters, in the order of the queue; one row without a claim
-- where there is none.
--
-- In: name, most: how many waiters

-- inspect
SELECT l.token, l.granted, l.capacity,
       c.token AS place, c.owner, c.weight, :now - c.since AS age, c.expires - :now AS expires_in, c.metadata
  FROM {locks} l
  LEFT JOIN {claims} c
    ON c.name = l.name AND c.expires > :now
   AND c.token <= coalesce((SELECT w.token - 1 FROM {claims} w
                             WHERE w.name = l.name AND w.token > l.granted AND w.expires > :now
                             ORDER BY w.token LIMIT 1 OFFSET :most), 9223372036854775807)
 WHERE l.name = :name
 ORDER BY c.token;

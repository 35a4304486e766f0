-- A name with all its living claims, in the order of the queue; one row without a claim where it is idle.
--
-- In: name

-- inspect
SELECT l.token, l.granted, l.capacity,
       c.token AS place, c.owner, c.weight, :now - c.since AS age, c.expires - :now AS expires_in, c.metadata
  FROM {locks} l
  LEFT JOIN {claims} c ON c.name = l.name AND c.expires > :now
 WHERE l.name = :name
 ORDER BY c.token;

-- A part of a name's claims, in the order of the queue: those behind `after` and up to `upto`, and those that hold. One
-- row without a place if there is no claim.
--
-- In: name, after, upto, most: how many claims, living or not

-- inspect
SELECT l.token, l.granted, l.capacity,
       c.token AS place, c.owner, c.weight, :now - c.since AS age, c.expires - :now AS expires_in, c.metadata,
       c.expires > :now AS living
  FROM {locks} l
  LEFT JOIN {claims} c ON c.name = l.name AND c.token > :after AND c.token <= max(l.granted, :upto)
 WHERE l.name = :name
 ORDER BY c.token LIMIT :most;

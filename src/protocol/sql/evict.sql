-- End every hold of a name, whoever has it.
--
-- In:  name
-- Out: holders

-- holders
SELECT count(*) AS holders
  FROM {claims} c
 WHERE c.name = :name AND c.expires > :now
   AND c.token <= (SELECT granted FROM {locks} WHERE name = :name);

-- tell?
SELECT client, owner, -token
  FROM {claims} c
 WHERE c.name = :name AND c.expires > :now
   AND c.token <= (SELECT granted FROM {locks} WHERE name = :name);

-- evict?
DELETE FROM {claims}
 WHERE name = :name AND token <= (SELECT granted FROM {locks} WHERE name = :name);

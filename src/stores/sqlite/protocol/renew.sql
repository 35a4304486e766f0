-- One more ttl for a hold. One that has expired stays so, even if nobody took its place; and what waits does not
-- hold, whatever its owner was told by a database that has gone back to an earlier state since.
--
-- The last renewal of a hold may have a longer ttl than the claim: former_boot.sql compares.
--
-- In: name, token, owner, ttl

-- keep
UPDATE {claims}
   SET expires = :now + :ttl, ttl = :ttl
 WHERE name = :name AND token = :token AND owner = :owner AND expires > :now
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

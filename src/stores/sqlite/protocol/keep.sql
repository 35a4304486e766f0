-- One more ttl for a claim, held or waiting. One that has expired stays so, even if nobody took its place.
--
-- In: name, token, owner, ttl

-- keep
UPDATE {claims}
   SET expires = :now + :ttl
 WHERE name = :name AND token = :token AND owner = :owner AND expires > :now;

-- From writer to reader, in place: nobody can come between. What waits does not hold, whatever its owner was told by a
-- database that has gone back to an earlier state since.
--
-- In: name, token, owner, weight (a reader's)

-- lower
UPDATE {claims}
   SET weight = :weight
 WHERE name = :name AND token = :token AND owner = :owner AND expires > :now
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

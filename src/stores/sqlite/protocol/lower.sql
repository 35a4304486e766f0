-- From writer to reader, in place: nobody can come between.
--
-- In: name, token, owner, weight (a reader's)

-- lower
UPDATE {claims}
   SET weight = :weight
 WHERE name = :name AND token = :token AND owner = :owner AND expires > :now;

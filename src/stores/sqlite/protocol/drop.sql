-- End a living claim, held or waiting. Only its owner can.
--
-- In: name, token, owner

-- drop
DELETE FROM {claims} WHERE name = :name AND token = :token AND owner = :owner AND expires > :now;

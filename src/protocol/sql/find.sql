-- The living claim of an owner whose token is not known: the reply that told it was lost.
--
-- In:  name, owner
-- Out: token

-- find
SELECT token FROM {claims} WHERE name = :name AND owner = :owner AND expires > :now;

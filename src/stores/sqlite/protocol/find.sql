-- The living claim of an owner whose token is not known: the reply that told it was lost. The first, if there
-- are two: a request that had been given up for lost may have been carried out late, beside its successor.
--
-- In:  name, owner
-- Out: token

-- find
SELECT token FROM {claims} WHERE name = :name AND owner = :owner AND expires > :now ORDER BY token LIMIT 1;

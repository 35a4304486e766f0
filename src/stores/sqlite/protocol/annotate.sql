-- Other metadata for a claim, in place: a leader replaces its value.
--
-- In: name, token, owner, metadata

-- annotate
UPDATE {claims}
   SET metadata = :metadata
 WHERE name = :name AND token = :token AND owner = :owner AND expires > :now;

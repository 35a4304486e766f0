-- Other metadata for a claim that holds, in place: a leader replaces its value. A claim that waits has none to replace: its
-- client believes to hold what the store has forgotten.
--
-- In: name, token, owner, metadata

-- annotate
UPDATE {claims}
   SET metadata = :metadata
 WHERE name = :name AND token = :token AND owner = :owner AND expires > :now
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

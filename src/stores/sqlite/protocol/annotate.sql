-- Other metadata for a claim that holds, in place: a leader replaces its value. A request to release stays. A claim that
-- waits has none to replace: its client believes to hold what the store has forgotten.
--
-- In: name, token, owner, metadata

-- annotate
UPDATE {claims}
   SET metadata = CASE WHEN instr(metadata, ',"release_request":') > 0 AND :metadata LIKE '%}'
                       THEN substr(:metadata, 1, length(:metadata) - 1)
                            || substr(metadata, instr(metadata, ',"release_request":'))
                       ELSE :metadata END
 WHERE name = :name AND token = :token AND owner = :owner AND expires > :now
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

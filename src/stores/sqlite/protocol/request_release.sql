-- Ask holders of a name to release, those with a token from :token to :last: the request stands at the end of the
-- metadata, in place of a former one (see base/metadata.hpp).
--
-- In:  name, token, last, metadata (the reason)
-- Out: holders

-- holders
SELECT count(*) AS holders
  FROM {claims} c
 WHERE c.name = :name AND c.expires > :now AND c.token BETWEEN :token AND :last
   AND c.token <= (SELECT granted FROM {locks} WHERE name = :name);

-- tell?
SELECT client, owner, -9223372036854775807
  FROM {claims} c
 WHERE c.name = :name AND c.expires > :now AND c.token BETWEEN :token AND :last
   AND c.token <= (SELECT granted FROM {locks} WHERE name = :name);

-- ask?
UPDATE {claims}
   SET metadata = substr(metadata, 1, coalesce(nullif(instr(metadata, ',"release_request":'), 0), length(metadata)) - 1)
                  || ',"release_request":' || json_quote(:metadata) || '}'
 WHERE name = :name AND expires > :now AND token BETWEEN :token AND :last AND metadata LIKE '%}'
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

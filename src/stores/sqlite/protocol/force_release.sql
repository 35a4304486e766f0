-- End holds of a name, whoever has them: those with a token from :token to :last.
--
-- In:  name, token, last
-- Out: holders

-- holders
SELECT count(*) AS holders
  FROM {claims} c
 WHERE c.name = :name AND c.expires > :now AND c.token BETWEEN :token AND :last
   AND c.token <= (SELECT granted FROM {locks} WHERE name = :name);

-- tell?
SELECT client, owner, -token
  FROM {claims} c
 WHERE c.name = :name AND c.expires > :now AND c.token BETWEEN :token AND :last
   AND c.token <= (SELECT granted FROM {locks} WHERE name = :name);

-- end?
DELETE FROM {claims}
 WHERE name = :name AND token BETWEEN :token AND :last
   AND token <= (SELECT granted FROM {locks} WHERE name = :name);

-- The procedures of these names in the database {SCHEMA}, of which a user sees those that it may call: lines of a name, the
-- maker, 'own' if that is this user, whose rights it has, and its comment, with CHAR(31) between.
SELECT CONCAT_WS(CHAR(31), routine_name, definer, IF(definer = CURRENT_USER(), 'own', ''), security_type, routine_comment)
  FROM information_schema.routines
 WHERE routine_schema = '{SCHEMA}' AND routine_type = 'PROCEDURE' AND routine_name IN ({PROCEDURES})

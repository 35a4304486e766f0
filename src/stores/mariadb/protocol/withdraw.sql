-- End the living claim of an owner whose token is not known, as find finds it, and hand the name on.
--
-- Out: done
CREATE PROCEDURE IF NOT EXISTS {withdraw}(in_name VARBINARY(512), in_owner BINARY(16))
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE in_token BIGINT;
  DECLARE v_done INT DEFAULT 0;
--@include lock.sql
  SET in_token = (SELECT token FROM {claims} FORCE INDEX (PRIMARY)
                   WHERE name = in_name AND token >= COALESCE(v_oldest, 0) AND owner = in_owner AND expires > v_now
                  AND (ttl < {FOREVER} OR client = @holdfast_session) ORDER BY token LIMIT 1);
  IF in_token IS NOT NULL THEN
--@include drop.sql
  END IF;
  COMMIT;
--@include ring.sql
  SELECT v_done AS done;
END

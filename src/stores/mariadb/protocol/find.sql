-- Where the living claim of an owner stands whose token is not known: the reply that told it was lost. The first,
-- if there are two: a request that had been given up for lost may have been carried out late, beside its
-- successor.
--
-- Out: token, granted, head, holder_left; no row where there is none
CREATE PROCEDURE IF NOT EXISTS {find}(in_name VARBINARY(512), in_owner BINARY(16))
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_own, v_first BIGINT;
  DECLARE v_head BOOLEAN;
--@include lock.sql
  SET v_own = (SELECT token FROM {claims} FORCE INDEX (PRIMARY)
                WHERE name = in_name AND token >= COALESCE(v_oldest, 0) AND owner = in_owner AND expires > v_now
                  AND (ttl < {FOREVER} OR client = @holdfast_session) ORDER BY token LIMIT 1);
  IF v_own IS NOT NULL THEN
--@include place.sql
  END IF;
  COMMIT;
  SELECT v_own AS token, v_granted >= v_own AS granted, v_head AS head, v_first - v_now AS holder_left
    FROM DUAL WHERE v_own IS NOT NULL;
END

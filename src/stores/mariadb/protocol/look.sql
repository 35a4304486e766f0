-- One more ttl for a waiting claim, and where it stood before the name was handed on. One that has expired stays
-- so, even if nobody took its place. A claim that ends with its session is kept by that alone.
--
-- Out: token, granted, head, holder_left; no row where it is gone
CREATE PROCEDURE IF NOT EXISTS {look}(
  in_name VARBINARY(512), in_owner BINARY(16), in_token BIGINT, in_ttl BIGINT)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_own, v_first BIGINT;
  DECLARE v_client BINARY(16);
  DECLARE v_head BOOLEAN;
--@include lock.sql
  SELECT token, client INTO v_own, v_client FROM {claims} FORCE INDEX (PRIMARY)
   WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > v_now
     AND (ttl < {FOREVER} OR client = @holdfast_session);
  IF v_own IS NOT NULL THEN
    IF in_ttl < {FOREVER} THEN
      UPDATE {claims} FORCE INDEX (PRIMARY) SET expires = v_now + in_ttl WHERE name = in_name AND token = v_own;
    END IF;
--@include place.sql
    IF v_granted >= v_own THEN -- it need not be told so in a word, too; but of a request to release
      DELETE w FROM {words} AS w FORCE INDEX (PRIMARY)
       WHERE w.client = v_client AND w.owner = in_owner AND w.token >= 0;
    END IF;
--@include serve.sql
  END IF;
  COMMIT;
--@include ring.sql
--@include still_writable.sql
  SELECT v_own AS token, v_granted >= v_own AS granted, v_head AS head, v_first - v_now AS holder_left
    FROM DUAL WHERE v_own IS NOT NULL;
END

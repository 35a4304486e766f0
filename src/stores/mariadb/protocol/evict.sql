-- End the holds of a name with a token from in_token to in_last, whoever has them, tell their clients, and hand the
-- name on.
--
-- Out: holders
CREATE PROCEDURE IF NOT EXISTS {evict}(in_name VARBINARY(512), in_token BIGINT, in_last BIGINT)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_count INT DEFAULT 0;
  DECLARE v_at BIGINT;
  DECLARE v_owner, v_client BINARY(16);
--@include lock.sql
  SET v_at = GREATEST(v_oldest, in_token) - 1;
  evicting: LOOP
    SET v_client = NULL;
    SELECT token, owner, client INTO v_at, v_owner, v_client
      FROM {claims} AS h FORCE INDEX (PRIMARY)
     WHERE name = in_name AND token > v_at AND token <= LEAST(v_granted, in_last) AND expires > v_now AND NOT {GONE h}
     ORDER BY token LIMIT 1;
    IF v_client IS NULL THEN LEAVE evicting; END IF;
    SET v_count = v_count + 1;
    INSERT INTO {words} (client, owner, token, told) VALUES (v_client, v_owner, -v_at, v_now)
        ON DUPLICATE KEY UPDATE told = v_now;
    IF LOCATE(v_client, v_told) = 0 THEN SET v_told = CONCAT(v_told, v_client); END IF;
  END LOOP;
  DELETE c FROM {claims} AS c FORCE INDEX (PRIMARY)
   WHERE c.name = in_name AND c.token BETWEEN GREATEST(v_oldest, in_token) AND LEAST(v_granted, in_last);
--@include serve.sql
  COMMIT;
--@include ring.sql
  SELECT v_count AS holders;
END

-- Ask the holders of a name with a token from in_token to in_last to release: the request stands at the end of the
-- metadata, in place of a former one, and their clients are told.
--
-- Out: holders
CREATE PROCEDURE IF NOT EXISTS {request_release}(
  in_name VARBINARY(512), in_token BIGINT, in_last BIGINT, in_reason VARBINARY(200))
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_count INT DEFAULT 0;
  DECLARE v_at BIGINT;
  DECLARE v_owner, v_client BINARY(16);
  DECLARE v_request VARBINARY(1024) DEFAULT
    CONCAT(',"release_request":', JSON_QUOTE(CONVERT(in_reason USING utf8mb4)), '}');
--@include lock.sql
  SET v_at = GREATEST(v_oldest, in_token) - 1;
  asking: LOOP
    SET v_client = NULL;
    SELECT token, owner, client INTO v_at, v_owner, v_client
      FROM {claims} AS h FORCE INDEX (PRIMARY)
     WHERE name = in_name AND token > v_at AND token <= LEAST(v_granted, in_last) AND expires > v_now AND NOT {GONE h}
     ORDER BY token LIMIT 1;
    IF v_client IS NULL THEN LEAVE asking; END IF;
    SET v_count = v_count + 1;
    -- Quotes are escaped within JSON: the mark occurs nowhere else.
    UPDATE {claims} FORCE INDEX (PRIMARY)
       SET metadata = CONCAT(LEFT(metadata, COALESCE(NULLIF(LOCATE(',"release_request":', metadata), 0),
                                                     LENGTH(metadata)) - 1), v_request)
     WHERE name = in_name AND token = v_at AND RIGHT(metadata, 1) = '}';
    INSERT INTO {words} (client, owner, token, told) VALUES (v_client, v_owner, -9223372036854775807, v_now)
        ON DUPLICATE KEY UPDATE told = v_now;
    IF LOCATE(v_client, v_told) = 0 THEN SET v_told = CONCAT(v_told, v_client); END IF;
  END LOOP;
  COMMIT;
--@include ring.sql
  SELECT v_count AS holders;
END

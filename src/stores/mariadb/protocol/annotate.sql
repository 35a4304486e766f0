-- Other metadata for a claim that holds, in place: a leader replaces its value. A request to release stays. A claim that
-- waits has none to replace: its client believes to hold what the store has forgotten.
--
-- Out: done
CREATE PROCEDURE IF NOT EXISTS {annotate}(
  in_name VARBINARY(512), in_owner BINARY(16), in_token BIGINT, in_metadata MEDIUMBLOB)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_done BOOLEAN;
--@include lock.sql
  -- Not by the number of rows changed: one that has this metadata already is not.
  SET v_done = EXISTS (SELECT 1 FROM {claims} FORCE INDEX (PRIMARY)
                        WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > v_now
                          AND in_token <= v_granted);
  IF v_done THEN
    UPDATE {claims} FORCE INDEX (PRIMARY)
       SET metadata = IF(LOCATE(',"release_request":', metadata) > 0 AND RIGHT(in_metadata, 1) = '}',
                         CONCAT(LEFT(in_metadata, LENGTH(in_metadata) - 1),
                                SUBSTRING(metadata, LOCATE(',"release_request":', metadata))),
                         in_metadata)
     WHERE name = in_name AND token = in_token;
  END IF;
  COMMIT;
  SELECT v_done AS done;
END

-- From writer to reader, in place: nobody can come between. Then hand the name on to other readers. What waits does not
-- hold, whatever its owner was told by a database that has gone back to an earlier state since.
--
-- Out: done
CREATE PROCEDURE IF NOT EXISTS {downgrade}(
  in_name VARBINARY(512), in_owner BINARY(16), in_token BIGINT, in_weight BIGINT)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_done BOOLEAN;
--@include lock.sql
  -- Not by the number of rows changed: one that is lowered again is not. Heavier, or lighter than nothing, others would
  -- hold beside it.
  SET v_done = EXISTS (SELECT 1 FROM {claims} FORCE INDEX (PRIMARY)
                        WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > v_now
                          AND in_token <= v_granted AND in_weight BETWEEN 1 AND weight);
  IF v_done THEN
    UPDATE {claims} FORCE INDEX (PRIMARY) SET weight = in_weight WHERE name = in_name AND token = in_token;
--@include serve.sql
  END IF;
  COMMIT;
--@include ring.sql
  SELECT v_done AS done;
END

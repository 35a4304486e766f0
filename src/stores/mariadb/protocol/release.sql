-- End a living claim, held or waiting, and hand the name on. Only its owner can.
--
-- Out: done
CREATE PROCEDURE IF NOT EXISTS {release}(in_name VARBINARY(512), in_owner BINARY(16), in_token BIGINT)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_done INT;
--@include lock.sql
--@include drop.sql
  COMMIT;
--@include ring.sql
  SELECT v_done AS done;
END

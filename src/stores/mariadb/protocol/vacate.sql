-- Remove the claims that a session, which is over, has left at one name, and hand that on.
CREATE PROCEDURE IF NOT EXISTS {vacate}(in_name VARBINARY(512), in_client BINARY(16))
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
--@include lock.sql
  DELETE c FROM {claims} AS c FORCE INDEX (PRIMARY) WHERE c.name = in_name AND c.client = in_client;
--@include serve.sql
  COMMIT;
--@include ring.sql
END

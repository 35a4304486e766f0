-- One more ttl for each of a batch of holds. One that has expired stays so, even if nobody took its place; and what
-- waits does not hold, whatever its owner was told by a database that has gone back to an earlier state since. One
-- that ends with this session is there or not, no more.
--
-- In:  one after another, in the order of the names, which is the order of the locks: the length of a name in 2
--      bytes, the name, the owner in 16 bytes, the token and the ttl in 8 bytes each; the highest byte first
-- Out: kept: for each a 1, or a 0
CREATE PROCEDURE IF NOT EXISTS {renew}(in_holds MEDIUMBLOB)
  MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'Holdfast 1'
BEGIN
  DECLARE v_at INT DEFAULT 1;
  DECLARE v_size INT;
  DECLARE v_name VARBINARY(512);
  DECLARE v_rest BINARY(32);
  DECLARE v_token, v_granted, v_now BIGINT;
  DECLARE v_kept MEDIUMTEXT CHARACTER SET ascii DEFAULT '';
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;
  ROLLBACK; -- of a call that was killed
  START TRANSACTION;
  WHILE v_at <= LENGTH(in_holds) DO
    SET v_size = CONV(HEX(SUBSTR(in_holds, v_at, 2)), 16, 10);
    SET v_name = SUBSTR(in_holds, v_at + 2, v_size);
    SET v_rest = SUBSTR(in_holds, v_at + 2 + v_size, 32);
    SET v_at = v_at + 2 + v_size + 32;
    SET v_token = CONV(HEX(SUBSTR(v_rest, 17, 8)), 16, 10);
    SET v_granted = NULL;
    SELECT granted INTO v_granted FROM {locks} FORCE INDEX (PRIMARY) WHERE name = v_name FOR UPDATE;
    SET v_now = UNIX_TIMESTAMP(SYSDATE(6)) * 1000000; -- only now that we have the row
    IF v_token <= v_granted
       AND EXISTS (SELECT 1 FROM {claims} FORCE INDEX (PRIMARY)
                    WHERE name = v_name AND token = v_token AND owner = LEFT(v_rest, 16) AND expires > v_now
                      AND (ttl < {FOREVER} OR client = @holdfast_session)) THEN
      UPDATE {claims} FORCE INDEX (PRIMARY)
         SET expires = v_now + CONV(HEX(SUBSTR(v_rest, 25, 8)), 16, 10)
       WHERE name = v_name AND token = v_token AND ttl < {FOREVER};
      SET v_kept = CONCAT(v_kept, '1');
    ELSE
      SET v_kept = CONCAT(v_kept, '0');
    END IF;
  END WHILE;
  COMMIT;
  SELECT v_kept AS kept;
END

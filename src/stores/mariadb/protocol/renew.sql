-- One more ttl for each of a batch of holds. One that has expired stays so, even if nobody took its place; and what
-- waits does not hold, whatever its owner was told by a database that has gone back to an earlier state since. One
-- that ends with this session is there or not, no more.
--
-- A row that somebody else keeps locked must not cost the holds of other names: those that are free are renewed
-- first, without waiting for any; then the others, one by one, until one has been waited for in vain.
--
-- In:  one after another, in the order of the names, which is the order of the locks: the length of a name in 2
--      bytes, the name, the owner in 16 bytes, the token and the ttl in 8 bytes each; the highest byte first
-- Out: kept: for each a 1, or a 0; or a 2: it could not be looked at, and is what it was
CREATE PROCEDURE IF NOT EXISTS {renew}(in_holds MEDIUMBLOB)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_pass INT DEFAULT 1;
  DECLARE v_at, v_size, v_each INT;
  DECLARE v_name VARBINARY(512);
  DECLARE v_rest BINARY(32);
  DECLARE v_token, v_granted, v_found, v_now BIGINT;
  DECLARE v_busy, v_over BOOLEAN DEFAULT FALSE;
  DECLARE v_kept MEDIUMTEXT CHARACTER SET ascii DEFAULT '';
  -- A server may be set to take back the whole transaction when one row was waited for in vain.
  DECLARE v_alone BOOLEAN DEFAULT @@GLOBAL.innodb_rollback_on_timeout;
  DECLARE v_patience INT DEFAULT @@SESSION.innodb_lock_wait_timeout;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    SET SESSION innodb_lock_wait_timeout = v_patience;
    RESIGNAL;
  END;
  ROLLBACK; -- of a call that was killed
--@include writable.sql
  -- MariaDB has no NOWAIT in procedures, but a wait of no time, which MySQL does not have.
  SET SESSION innodb_lock_wait_timeout = 1 /*M! - 1 */;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  WHILE v_pass <= 2 DO
    SET v_at = 1, v_each = 0;
    WHILE v_at <= LENGTH(in_holds) DO
      SET v_size = CONV(HEX(SUBSTR(in_holds, v_at, 2)), 16, 10);
      SET v_name = SUBSTR(in_holds, v_at + 2, v_size);
      SET v_rest = SUBSTR(in_holds, v_at + 2 + v_size, 32);
      SET v_at = v_at + 2 + v_size + 32;
      SET v_each = v_each + 1;
      IF v_pass = 1 OR (NOT v_over AND SUBSTR(v_kept, v_each, 1) = '2') THEN
        SET v_token = CONV(HEX(SUBSTR(v_rest, 17, 8)), 16, 10);
        SET v_granted = NULL, v_found = NULL, v_busy = FALSE;
        BEGIN
          DECLARE CONTINUE HANDLER FOR 1205, 3572 SET v_busy = TRUE;
          IF v_pass = 1 THEN
            SELECT granted INTO v_granted FROM {locks} FORCE INDEX (PRIMARY) WHERE name = v_name
               FOR UPDATE /*!80001 NOWAIT */;
          ELSE
            SELECT granted INTO v_granted FROM {locks} FORCE INDEX (PRIMARY) WHERE name = v_name FOR UPDATE;
          END IF;
          SET v_now = UNIX_TIMESTAMP(SYSDATE(6)) * 1000000; -- only now that we have the row
          IF NOT v_busy AND v_token <= v_granted THEN
            SELECT token INTO v_found FROM {claims} FORCE INDEX (PRIMARY)
             WHERE name = v_name AND token = v_token AND owner = LEFT(v_rest, 16) AND expires > v_now
               AND (ttl < {FOREVER} OR client = @holdfast_session)
             FOR UPDATE /*!80001 NOWAIT */;
          END IF;
        END;
        IF v_found IS NOT NULL THEN
          UPDATE {claims} FORCE INDEX (PRIMARY)
             SET expires = v_now + CONV(HEX(SUBSTR(v_rest, 25, 8)), 16, 10)
           WHERE name = v_name AND token = v_token AND ttl < {FOREVER};
        END IF;
        SET v_kept = INSERT(CONCAT(v_kept, IF(v_pass = 1, '0', '')), v_each, 1,
                            IF(v_busy, '2', IF(v_found IS NULL, '0', '1')));
        SET v_over = v_busy AND v_pass = 2;
        IF v_alone OR v_pass = 2 THEN
          COMMIT;
          SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
          START TRANSACTION;
        END IF;
      END IF;
    END WHILE;
    COMMIT;
    SET v_pass = IF(LOCATE('2', v_kept) = 0, 3, v_pass + 1);
    IF v_pass = 2 THEN
      SET SESSION innodb_lock_wait_timeout = 1;
      SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
      START TRANSACTION;
    END IF;
  END WHILE;
  COMMIT;
  SET SESSION innodb_lock_wait_timeout = v_patience;
--@include still_writable.sql
  SELECT v_kept AS kept;
END

-- End living claims in the order of their names and in one transaction, and hand the names on.
--
-- In:  lists, as acquire_all has them
-- Out: done: for each claim 1, or 0: there was none
CREATE PROCEDURE IF NOT EXISTS {release_all}(in_names MEDIUMBLOB, in_owners MEDIUMBLOB, in_tokens MEDIUMBLOB)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_each INT DEFAULT 0;
  DECLARE v_place INT DEFAULT 1;
  DECLARE v_size, v_done INT;
  DECLARE in_name VARBINARY(512);
  DECLARE in_owner BINARY(16);
  DECLARE in_token, v_last, v_granted, v_oldest, v_capacity, v_now BIGINT;
  DECLARE v_told MEDIUMBLOB DEFAULT '';
  DECLARE v_answers MEDIUMTEXT CHARACTER SET ascii DEFAULT '';
--@include begin.sql
  WHILE v_place <= LENGTH(in_names) DO
    SET v_size = CONV(HEX(SUBSTR(in_names, v_place, 4)), 16, 10);
    SET in_name = SUBSTR(in_names, v_place + 4, v_size);
    SET v_place = v_place + 4 + v_size;
    SET in_owner = SUBSTR(in_owners, 16 * v_each + 1, 16);
    SET in_token = CONV(HEX(SUBSTR(in_tokens, 8 * v_each + 1, 8)), 16, 10);
    SET v_each = v_each + 1;
    SET v_last = NULL;
    SELECT token, granted, oldest, capacity INTO v_last, v_granted, v_oldest, v_capacity
      FROM {locks} FORCE INDEX (PRIMARY) WHERE name = in_name FOR UPDATE;
    SET v_now = UNIX_TIMESTAMP(SYSDATE(6)) * 1000000; -- only now that we have the row
--@include drop.sql
    SET v_answers = CONCAT(v_answers, v_done);
  END WHILE;
  COMMIT;
--@include ring.sql
  SELECT v_answers AS done;
END

-- Claims that do not wait, in the order of their names and in one transaction, up to the first that is not granted. What
-- is more than to take a free name, or to be refused by who holds, is left to acquire: a new name, claims that are dead or
-- that end with a session, another capacity.
--
-- In:  lists, one item after another: names and metadata with their lengths before them in 4 bytes, owners in 16 bytes,
--      numbers in 8; the highest byte first
-- Out: answers: the token of each claim that is granted; and a minus if the next one is refused
CREATE PROCEDURE IF NOT EXISTS {acquire_all}(
  in_names MEDIUMBLOB, in_owners MEDIUMBLOB, in_client BINARY(16), in_weights MEDIUMBLOB, in_capacities MEDIUMBLOB,
  in_ttls MEDIUMBLOB, in_metadata LONGBLOB)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_each INT DEFAULT 0;
  DECLARE v_at, v_note INT DEFAULT 1;
  DECLARE v_size, v_length INT;
  DECLARE v_name VARBINARY(512);
  DECLARE v_weight, v_room, v_ttl, v_last, v_granted, v_oldest, v_capacity, v_now, v_rows, v_held, v_token BIGINT;
  DECLARE v_answers MEDIUMTEXT CHARACTER SET ascii DEFAULT '';
--@include begin.sql
  taking: WHILE v_at <= LENGTH(in_names) DO
    SET v_size = CONV(HEX(SUBSTR(in_names, v_at, 4)), 16, 10);
    SET v_name = SUBSTR(in_names, v_at + 4, v_size);
    SET v_at = v_at + 4 + v_size;
    SET v_length = CONV(HEX(SUBSTR(in_metadata, v_note, 4)), 16, 10);
    SET v_weight = CONV(HEX(SUBSTR(in_weights, 8 * v_each + 1, 8)), 16, 10);
    SET v_room = CONV(HEX(SUBSTR(in_capacities, 8 * v_each + 1, 8)), 16, 10);
    SET v_ttl = CONV(HEX(SUBSTR(in_ttls, 8 * v_each + 1, 8)), 16, 10);
    SET v_last = NULL;
    SELECT token, granted, oldest, capacity INTO v_last, v_granted, v_oldest, v_capacity
      FROM {locks} FORCE INDEX (PRIMARY) WHERE name = v_name FOR UPDATE;
    SET v_now = UNIX_TIMESTAMP(SYSDATE(6)) * 1000000; -- only now that we have the row
    IF NOT COALESCE(v_last > 0 AND v_weight BETWEEN 1 AND v_room AND v_ttl > 0, FALSE) THEN LEAVE taking; END IF;
    SELECT COUNT(*), COALESCE(SUM(IF(expires > v_now AND ttl < {FOREVER}, weight, 0)), 0) INTO v_rows, v_held
      FROM {claims} FORCE INDEX (PRIMARY) WHERE name = v_name AND token BETWEEN v_oldest AND v_granted;
    IF v_rows > 0 OR v_last > v_granted THEN
      IF v_capacity = v_room AND v_held > v_room - v_weight THEN SET v_answers = CONCAT(v_answers, ' -'); END IF;
      LEAVE taking;
    END IF;
    SET v_token = GREATEST(v_last + 1, v_now);
    UPDATE {locks} FORCE INDEX (PRIMARY)
       SET token = v_token, granted = v_token, oldest = v_token, capacity = v_room
     WHERE name = v_name;
    INSERT INTO {claims} (name, token, owner, client, weight, ttl, expires, since, metadata)
    VALUES (v_name, v_token, SUBSTR(in_owners, 16 * v_each + 1, 16), in_client, v_weight, v_ttl, v_now + v_ttl, v_now,
            SUBSTR(in_metadata, v_note + 4, v_length));
    SET v_answers = CONCAT(v_answers, ' ', v_token);
    SET v_note = v_note + 4 + v_length;
    SET v_each = v_each + 1;
  END WHILE;
  COMMIT;
--@include still_writable.sql
  SELECT SUBSTR(v_answers, 2) AS answers;
END

-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- Out: outcome (0: a place; 1: refused, nothing was written; 2: in use with the capacity that stands in token),
--      token, granted, head (nobody waits before it), holder_left (until the first of the others expires)
CREATE PROCEDURE IF NOT EXISTS {acquire}(
  in_name VARBINARY(512), in_owner BINARY(16), in_client BINARY(16), in_weight BIGINT, in_capacity BIGINT,
  in_ttl BIGINT, in_metadata MEDIUMBLOB, in_wait BOOLEAN)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_token, v_first, v_eldest BIGINT;
  DECLARE v_held, v_dead BIGINT DEFAULT 0;
  DECLARE v_head, v_other, v_fits BOOLEAN;
--@include lock.sql
  -- Whoever may call this may write no table: other numbers would let two hold.
  IF NOT COALESCE(in_weight BETWEEN 1 AND in_capacity AND in_ttl > 0, FALSE) THEN
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'a claim has a weight from 1 to the capacity, and a ttl above 0';
  END IF;
  -- A new name: in a transaction of its own, so that of many who come at once each has one lock and none waits in
  -- a circle.
  WHILE v_last IS NULL DO
    COMMIT;
    INSERT INTO {locks} (name, token, granted, oldest, capacity) VALUES (in_name, 0, 0, 0, in_capacity)
        ON DUPLICATE KEY UPDATE token = token;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    SELECT token, granted, oldest, capacity INTO v_last, v_granted, v_oldest, v_capacity
      FROM {locks} FORCE INDEX (PRIMARY) WHERE name = in_name FOR UPDATE;
    SET v_now = UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;
  END WHILE;

  IF EXISTS (SELECT 1 FROM {claims} FORCE INDEX (PRIMARY) WHERE name = in_name AND token >= v_oldest) THEN
--@include bury.sql
    SELECT COALESCE(SUM(IF(expires > v_now, weight, 0)), 0),
           MIN(IF(expires > v_now AND ttl < {FOREVER}, expires, NULL)), MIN(IF(expires > v_now, token, NULL)),
           COUNT(IF(expires > v_now, NULL, 1))
      INTO v_held, v_first, v_eldest, v_dead
      FROM {claims} FORCE INDEX (PRIMARY) WHERE name = in_name AND token BETWEEN v_oldest AND v_granted;
  END IF;
  SET v_head = v_waiter IS NULL;
  SET v_other = v_capacity <> in_capacity AND (v_held > 0 OR NOT v_head);
  SET v_fits = v_head AND v_held <= in_capacity - in_weight AND NOT v_other; -- a sum may be out of range

  IF v_other THEN
    ROLLBACK;
    SELECT 2 AS outcome, v_capacity AS token, NULL AS granted, NULL AS head, NULL AS holder_left;
  ELSE
    IF v_fits OR in_wait THEN
      SET v_token = GREATEST(v_last + 1, v_now);
      -- The dead below what is granted now, waiters that were passed over among them: a clock that goes back must
      -- not make holders of them.
      SET v_dead = v_dead > 0 OR (v_fits AND v_last > v_granted);
      SET v_granted = IF(v_fits, v_token, v_granted);
      UPDATE {locks} FORCE INDEX (PRIMARY)
         SET token = v_token, granted = v_granted, oldest = COALESCE(v_eldest, IF(v_fits, v_token, v_oldest)),
             capacity = in_capacity
       WHERE name = in_name;
      INSERT INTO {claims} (name, token, owner, client, weight, ttl, expires, since, metadata)
      VALUES (in_name, v_token, in_owner, in_client, in_weight, in_ttl, v_now + in_ttl, v_now, in_metadata);
      IF v_dead THEN
        DELETE c FROM {claims} AS c FORCE INDEX (PRIMARY)
         WHERE c.name = in_name AND c.token BETWEEN v_oldest AND v_granted AND c.expires <= v_now;
      END IF;
      COMMIT;
--@include still_writable.sql
      SELECT 0 AS outcome, v_token AS token, v_fits AS granted, v_head AS head, v_first - v_now AS holder_left;
    ELSE
      ROLLBACK;
      SELECT 1 AS outcome, NULL AS token, NULL AS granted, NULL AS head, NULL AS holder_left;
    END IF;
  END IF;
END

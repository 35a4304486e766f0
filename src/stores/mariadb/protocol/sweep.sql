-- Forget what nobody has used for long: walk over a bounded number of names, and go on there with the next call,
-- whoever makes it; not again within `every` once the walk has come to its end. A name's last token is a time at
-- which it was used, and the next one is drawn no lower than the clock: forgetting keeps tokens rising.
--
-- In:  keep (how long an unused name is remembered), every, limit (names, and words); microseconds
-- Out: more (the walk has not come to its end)
CREATE PROCEDURE IF NOT EXISTS {sweep}(in_keep BIGINT, in_every BIGINT, in_limit INT)
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_now BIGINT DEFAULT UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;
  DECLARE v_swept, v_last BIGINT;
  DECLARE v_from, v_upto, v_name VARBINARY(512);
  DECLARE v_client, v_owner BINARY(16);
  DECLARE v_dropped INT DEFAULT 0;
  DECLARE v_due, v_more, v_end BOOLEAN DEFAULT FALSE;
  DECLARE stale_names CURSOR FOR
    SELECT l.name FROM {locks} AS l FORCE INDEX (PRIMARY)
     WHERE l.name > v_from AND l.name <= v_upto
       AND (EXISTS (SELECT 1 FROM {claims} AS c FORCE INDEX (PRIMARY)
                     WHERE c.name = l.name AND (c.expires <= v_now OR {GONE c}))
            OR (l.token < v_now - in_keep
                AND NOT EXISTS (SELECT 1 FROM {claims} AS c FORCE INDEX (PRIMARY) WHERE c.name = l.name)))
     ORDER BY l.name;
  DECLARE stale_words CURSOR FOR
    SELECT client, owner, token FROM {words} WHERE told < v_now - 3600000000 LIMIT in_limit;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;
  ROLLBACK; -- of a call that was killed
--@include writable.sql
  -- Whoever may call this may write no table: by a time to come, tokens would be forgotten that the clock has not reached.
  IF NOT COALESCE(in_keep >= 0 AND in_every >= 0 AND in_limit BETWEEN 1 AND 4096, FALSE) THEN
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'a sweep has times from 0, and a limit from 1 to 4096';
  END IF;

  -- Take the next stretch of names, so that nobody else sweeps it meanwhile.
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT swept, walked INTO v_swept, v_from FROM {sweeps} FORCE INDEX (PRIMARY) WHERE id = 1 FOR UPDATE;
  SET v_due = v_swept NOT BETWEEN v_now - in_every AND v_now;
  IF v_due THEN
    SET v_upto = (SELECT MAX(name) FROM (SELECT name FROM {locks} FORCE INDEX (PRIMARY) WHERE name > v_from
                                          ORDER BY name LIMIT in_limit) AS stretch);
    IF v_upto IS NULL THEN
      -- The words whose clients never came for them, as many as there are: while there are more, it is not over.
      SET v_more = FALSE, v_end = FALSE;
      OPEN stale_words;
      dropping: LOOP
        FETCH stale_words INTO v_client, v_owner, v_last;
        IF v_end THEN LEAVE dropping; END IF;
        DELETE w FROM {words} AS w FORCE INDEX (PRIMARY)
         WHERE w.client = v_client AND w.owner = v_owner AND w.token = v_last;
        SET v_dropped = v_dropped + 1, v_more = v_dropped = in_limit;
      END LOOP;
      CLOSE stale_words;
      IF NOT v_more THEN UPDATE {sweeps} SET swept = v_now, walked = '' WHERE id = 1; END IF;
    ELSE
      SET v_more = TRUE;
      UPDATE {sweeps} SET walked = v_upto WHERE id = 1;
    END IF;
  END IF;
  COMMIT;

  IF v_due AND v_upto IS NOT NULL THEN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    SET v_end = FALSE;
    OPEN stale_names;
    forgetting: LOOP
      FETCH stale_names INTO v_name;
      IF v_end THEN LEAVE forgetting; END IF;
      -- In the order of the names, which is the order of the locks; and anew, since it may be in use again.
      SET v_last = NULL;
      SELECT token INTO v_last FROM {locks} FORCE INDEX (PRIMARY) WHERE name = v_name FOR UPDATE;
      SET v_end = FALSE; -- another sweep may have forgotten it
      DELETE c FROM {claims} AS c FORCE INDEX (PRIMARY)
       WHERE c.name = v_name AND (c.expires <= v_now OR {GONE c});
      IF v_last < v_now - in_keep
         AND NOT EXISTS (SELECT 1 FROM {claims} FORCE INDEX (PRIMARY) WHERE name = v_name) THEN
        DELETE l FROM {locks} AS l FORCE INDEX (PRIMARY) WHERE l.name = v_name;
      END IF;
    END LOOP;
    CLOSE stale_names;
    COMMIT;
  END IF;

  SELECT v_more AS more;
END

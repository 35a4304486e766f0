  -- Remove the claims of sessions that are over: those that hold, and the first of those that wait, up to one that
  -- lives.
  SET v_buried = FALSE;
  BEGIN
    DECLARE v_at BIGINT DEFAULT v_oldest - 1;
    DECLARE v_found BIGINT;
    DECLARE v_gone BOOLEAN;
    holding: LOOP
      SET v_found = NULL;
      SELECT token INTO v_found FROM {claims} AS h FORCE INDEX (PRIMARY)
       WHERE name = in_name AND token > v_at AND token <= v_granted AND expires > v_now AND {GONE h}
       ORDER BY token LIMIT 1;
      IF v_found IS NULL THEN LEAVE holding; END IF;
      SET v_at = v_found, v_buried = TRUE;
      DELETE FROM {claims} WHERE name = in_name AND token = v_found;
    END LOOP;
    waiting: LOOP
      SET v_found = NULL;
      SELECT token, {GONE w} INTO v_found, v_gone FROM {claims} AS w FORCE INDEX (PRIMARY)
       WHERE name = in_name AND token > v_granted AND expires > v_now ORDER BY token LIMIT 1;
      IF v_found IS NULL OR NOT v_gone THEN LEAVE waiting; END IF;
      SET v_buried = TRUE;
      DELETE FROM {claims} WHERE name = in_name AND token = v_found;
    END LOOP;
  END;

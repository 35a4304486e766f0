  -- Remove the claims of sessions that are over: those that hold, and the first of those that wait, up to one that
  -- lives, whose token is then in v_waiter.
  BEGIN
    DECLARE v_at BIGINT DEFAULT v_oldest - 1;
    DECLARE v_gone BOOLEAN DEFAULT TRUE;
    WHILE v_gone DO
      SET v_waiter = NULL, v_gone = FALSE;
      SELECT token, {GONE c} INTO v_waiter, v_gone FROM {claims} AS c FORCE INDEX (PRIMARY)
       WHERE name = in_name AND token > v_at AND expires > v_now AND (token > v_granted OR {GONE c})
       ORDER BY token LIMIT 1;
      IF v_gone THEN
        DELETE FROM {claims} WHERE name = in_name AND token = v_waiter;
        SET v_at = v_waiter;
      END IF;
    END WHILE;
  END;

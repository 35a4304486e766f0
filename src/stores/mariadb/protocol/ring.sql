  -- Wake those who have been told, after the commit: each client's bell is a connection that holds the lock of
  -- that name and sleeps in listen. One that is not there looks by itself. Whatever goes wrong here, the task is
  -- done.
  WHILE v_told <> '' DO BEGIN
    DECLARE v_bell BIGINT;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    SET v_bell = IS_USED_LOCK(CONCAT('holdfast:', LOWER(HEX(LEFT(v_told, 16)))));
    SET v_told = SUBSTR(v_told, 17);
    IF v_bell IS NOT NULL THEN KILL QUERY v_bell; END IF;
  END; END WHILE;

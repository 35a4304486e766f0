-- Remove all claims that a session of one's own has left, which is over, and hand their names on, one by one. What
-- fails is left to those who come to that name: they find the session gone by themselves.
CREATE PROCEDURE IF NOT EXISTS {abandon}(in_client BINARY(16))
  MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'Holdfast 2'
BEGIN
  DECLARE v_name VARBINARY(512);
  DECLARE v_end BOOLEAN DEFAULT FALSE;
  DECLARE left_names CURSOR FOR SELECT DISTINCT name FROM {claims} WHERE client = in_client ORDER BY name;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
  DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
  ROLLBACK; -- of a call that was killed
  OPEN left_names;
  leaving: LOOP
    SET v_end = FALSE;
    FETCH left_names INTO v_name;
    IF v_end THEN LEAVE leaving; END IF;
    CALL {vacate}(v_name, in_client);
  END LOOP;
  CLOSE left_names;
END

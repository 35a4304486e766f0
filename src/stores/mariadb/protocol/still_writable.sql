  -- Nor counts what was committed while the server was set read_only: its successor may not have it.
  IF CONCAT(@@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the server was set read_only at this moment';
  END IF;

  -- Whoever has made this procedure lends it rights, which on an administrator's part pass a server's read_only.
  IF CONCAT(@@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'the server was set read_only';
  END IF;

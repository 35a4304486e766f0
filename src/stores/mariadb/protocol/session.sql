-- What a session is set to, whatever the server's defaults are.

-- usual
SET SESSION
  autocommit = 1,
  completion_type = 0,                   -- COMMIT begins nothing anew
  time_zone = '+00:00',                  -- UNIX_TIMESTAMP(SYSDATE(6)) has no hour that comes twice
  sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', -- what does not fit is refused; read by CREATE PROCEDURE
  innodb_lock_wait_timeout = 2,          -- rows are held for a few statements: longer is somebody else's doing
  lock_wait_timeout = 5,
  wait_timeout = 3600                    -- for a session without a word; ours says one each quarter of a minute
  /*M! , max_statement_time = 0 */       -- a bell sleeps in a statement

-- isolation
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED

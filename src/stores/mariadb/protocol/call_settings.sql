-- What a call needs in a session that is set to nothing: see session.sql. Names are resolved, and procedures run, in the modes
-- in which they were made.

-- usual
SET STATEMENT completion_type = 0, time_zone = '+00:00', innodb_lock_wait_timeout = 2, lock_wait_timeout = 5,
  max_statement_time = 0 FOR

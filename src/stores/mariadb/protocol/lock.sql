  DECLARE v_last, v_granted, v_oldest, v_capacity, v_now, v_waiter BIGINT;
  DECLARE v_told MEDIUMBLOB DEFAULT ''; -- the clients that have been told of something
--@include begin.sql
  SELECT token, granted, oldest, capacity INTO v_last, v_granted, v_oldest, v_capacity
    FROM {locks} FORCE INDEX (PRIMARY) WHERE name = in_name FOR UPDATE;
  -- Only now: whoever held the row may have kept us waiting. NOW() would be the time at which we began to.
  SET v_now = UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;

-- Whether a session is over that has made claims which end with it. Each such session holds an advisory lock under
-- the first 64 bits of its id, which the server frees when the session ends, however it ends. Everybody can see that
-- number in pg_locks, wait for it, and have it then: so a session counts as long as somebody has it who has logged in as
-- the role that made the claim (`login`). Whoever asks has its own lock in any mode, and does not ask about itself.
CREATE OR REPLACE FUNCTION {gone}(in_client bytea, in_login oid) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  key bigint := ('x' || encode(substring(in_client FROM 1 FOR 8), 'hex'))::bit(64)::bigint;
BEGIN
  IF in_client = {OWN} THEN
    RETURN false;
  END IF;
  IF pg_try_advisory_lock_shared(key) THEN
    PERFORM pg_advisory_unlock_shared(key);
    RETURN true;
  END IF;
  -- The server shows a transaction the sessions that there were when it asked first: a newer one is not to be missed.
  PERFORM pg_stat_clear_snapshot();
  RETURN NOT EXISTS (
    SELECT FROM pg_locks l JOIN pg_stat_get_activity(NULL) a USING (pid)
     WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock' AND l.objsubid = 1
       AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
       AND (l.classid::bigint << 32) | l.objid::bigint = key
       AND a.usesysid = in_login);
END $$;

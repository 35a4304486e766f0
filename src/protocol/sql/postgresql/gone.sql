-- Whether a session is over that has made claims which end with it. Each such session holds an advisory lock under
-- the first 64 bits of its id, which the server frees when the session ends, however it ends. Who asks has its own
-- lock in any mode, and does not ask about itself.
CREATE OR REPLACE FUNCTION {gone}(in_client bytea) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  key bigint := ('x' || encode(substring(in_client FROM 1 FOR 8), 'hex'))::bit(64)::bigint;
BEGIN
  IF in_client = {OWN} OR NOT pg_try_advisory_lock_shared(key) THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_unlock_shared(key);
  RETURN true;
END $$;

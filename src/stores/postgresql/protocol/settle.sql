-- The settings of one call of a client that polls, until its transaction ends. Its session may be the pooler's, and have the
-- settings that another client has left there. See `session_settings` in dial.cpp for the reasons.
CREATE OR REPLACE FUNCTION {settle}() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The pooler may lead elsewhere than when the client connected: a standby, or a former primary, answers with an old state.
  IF pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION USING ERRCODE = '25006', MESSAGE = 'the transaction is read-only';
  END IF;
  -- An error if it is another one: the statement that calls this has its snapshot already.
  PERFORM set_config('transaction_isolation', 'read committed', true);
  PERFORM set_config('client_encoding', 'UTF8', true);  -- of the names in the next message
  IF current_setting('synchronous_commit') <> 'remote_apply' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF current_setting('lock_timeout')::interval NOT BETWEEN '1 ms' AND '1 s' THEN
    PERFORM set_config('lock_timeout', '1s', true);
  END IF;
  -- From the next message on. A shorter one would end a call that waits for a lock, if not every call.
  IF current_setting('statement_timeout')::interval BETWEEN '1 ms' AND '2 s' THEN
    PERFORM set_config('statement_timeout', '2s', true);
  END IF;
  PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
  PERFORM set_config('enable_seqscan', 'off', true);
  PERFORM set_config('jit', 'off', true);
END $$;

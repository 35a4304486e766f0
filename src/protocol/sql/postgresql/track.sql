-- Have changes told, to the session that asks, until it asks for the contrary or ends; see changed.sql. The others do
-- not hear of them at all: the server wakes every session that listens to a channel.
CREATE OR REPLACE FUNCTION {track}() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  EXECUTE 'LISTEN "{CHANGED}"';
  PERFORM pg_advisory_lock_shared({WATCH});
END $$;
CREATE OR REPLACE FUNCTION {untrack}() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_unlock_shared({WATCH});
  EXECUTE 'UNLISTEN "{CHANGED}"';
END $$;

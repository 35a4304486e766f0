-- Have changes notified to the session that calls, for a minute, and the caller calls again before that is over: a client
-- that is gone, or stopped, makes the commits of others wait no longer than that; see changed.sql. Other sessions
-- do not hear of them at all: the server wakes every session that listens to a channel.
CREATE OR REPLACE FUNCTION {watch}() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE 'LISTEN "{CHANGED}"';
  INSERT INTO {sweeps} AS s (swept, watched) VALUES (0, {now}() + 60000000)
  ON CONFLICT (id) DO UPDATE SET watched = greatest(s.watched, excluded.watched);
END $$;
CREATE OR REPLACE FUNCTION {untrack}() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE 'UNLISTEN "{CHANGED}"';
END $$;
-- The same for one name alone: its changes, and those of the few names that share its bucket, go to a channel of their own.
-- There are {BUCKETS} buckets, so that however many names are watched, who locks reads one row to know. All who watch write that
-- row: only where less than a minute is left, so that it is written seldom however many they are.
CREATE OR REPLACE FUNCTION {watch_name}(in_name text, OUT bucket bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  bucket := {BUCKET};
  EXECUTE 'LISTEN "{CHANGED}_' || bucket || '"';
  -- Not waited for to be on the disk: a crash ends those who listen as well.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO {sweeps} (swept) VALUES (0) ON CONFLICT (id) DO NOTHING;
  UPDATE {sweeps} SET watched_names[bucket] = {now}() + 90000000
   WHERE id = 1 AND watched_names[bucket] < {now}() + 60000000;
END $$;
CREATE OR REPLACE FUNCTION {unwatch_names}(bucket bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE 'UNLISTEN "{CHANGED}_' || bucket || '"';
END $$;

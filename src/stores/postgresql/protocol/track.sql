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
-- As older clients call it, once: for a day.
CREATE OR REPLACE FUNCTION {track}() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE 'LISTEN "{CHANGED}"';
  INSERT INTO {sweeps} AS s (swept, watched) VALUES (0, {now}() + 86400000000)
  ON CONFLICT (id) DO UPDATE SET watched = greatest(s.watched, excluded.watched);
END $$;

-- Notify those who watch, where there are any: commits that notify wait for one another. Whoever watches says so anew from
-- time to time, see track.sql. In PL/pgSQL, like all that each lock and unlock calls: of functions in SQL the server
-- makes the plans anew in every transaction. Each of them calls this one, and a search_path of its own would cost it three
-- microseconds: so everything in it is named in full.
CREATE OR REPLACE FUNCTION {changed}(in_name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  of_name pg_catalog.int8 := {BUCKET};
  until bigint;
  until_of_name bigint;
BEGIN
  SELECT s.watched, s.watched_names[of_name] INTO until, until_of_name
    FROM {sweeps} s WHERE s.id OPERATOR(pg_catalog.=) 1::pg_catalog.int2;
  IF until OPERATOR(pg_catalog.>) 0 AND until OPERATOR(pg_catalog.>) {now}() THEN
    PERFORM pg_catalog.pg_notify('{CHANGED}', '');
  END IF;
  IF until_of_name OPERATOR(pg_catalog.>) 0 AND until_of_name OPERATOR(pg_catalog.>) {now}() THEN
    PERFORM pg_catalog.pg_notify(pg_catalog.concat('{CHANGED}_', of_name), pg_catalog.concat(of_name));
  END IF;
END $$;

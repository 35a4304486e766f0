-- Remove the claims that a session of one's own has left, which is over, and hand their names on. A name that
-- somebody is at is left to those who are: they find the session gone by themselves.
CREATE OR REPLACE FUNCTION {abandon}(in_client bytea) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  last bigint;
  upto bigint;
  low bigint;
  room bigint;
  n record;
BEGIN
  FOR n IN SELECT DISTINCT c.name FROM {claims} c WHERE c.client = in_client ORDER BY c.name LOOP
    SELECT l.token, l.granted, l.oldest, l.capacity INTO last, upto, low, room
      FROM {locks} l WHERE l.name = n.name FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM {claims} WHERE name = n.name AND client = in_client;
    IF last > upto THEN
      PERFORM {serve}(n.name, {now}(), low, upto, room);
    END IF;
    PERFORM {changed}(n.name);
  END LOOP;
END $$;

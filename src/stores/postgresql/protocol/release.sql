-- End a living claim, held or waiting, and hand the name on. Only its owner can. Where nobody waits, the
-- commit is not waited for to be on the disk: a server that crashes within three times wal_writer_delay may bring the
-- claim back, which ends with its ttl all the same. So a lock and its unlock cost one wait for the disk, and not two.
CREATE OR REPLACE FUNCTION {release}(in_name text, in_owner bytea, in_token bigint, OUT done bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint;
  last bigint;
  upto bigint;
  low bigint;
  room bigint;
  commits text;
BEGIN
  SELECT l.token, l.granted, l.oldest, l.capacity INTO last, upto, low, room
    FROM {locks} l WHERE l.name = in_name FOR NO KEY UPDATE;
  at := {now}();
  DELETE FROM {claims}
   WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > at;
  done := FOUND::int;
  IF FOUND THEN
    IF last > upto THEN
      PERFORM {serve}(in_name, at, low, upto, room);
    ELSE
      commits := set_config('synchronous_commit', 'off', true);
    END IF;
    PERFORM {changed}();
  END IF;
END $$;

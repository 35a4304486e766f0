-- End a living claim, held or waiting, and hand the name on. Only its owner can. Where nobody waits, the
-- commit is not waited for to be on the disk: a server that crashes within three times wal_writer_delay may bring the
-- claim back, which ends with its ttl all the same. So a lock and its unlock cost one wait for the disk, and not two.
CREATE OR REPLACE FUNCTION {release}(in_name text, in_owner bytea, in_token bigint, OUT done bigint)
--@include locals.sql
  commits text;
BEGIN
--@include lock.sql
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
    PERFORM {changed}(in_name);
  END IF;
END $$;

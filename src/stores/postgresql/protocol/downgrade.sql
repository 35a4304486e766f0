-- From writer to reader, in place: nobody can come between. Then others may fit beside it.
CREATE OR REPLACE FUNCTION {downgrade}(in_name text, in_owner bytea, in_token bigint, in_weight bigint,
  OUT done bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint;
  last bigint;
  upto bigint;
  low bigint;
  room bigint;
BEGIN
  SELECT l.token, l.granted, l.oldest, l.capacity INTO last, upto, low, room
    FROM {locks} l WHERE l.name = in_name FOR NO KEY UPDATE;
  at := {now}();
  UPDATE {claims} SET weight = in_weight
   WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > at
     AND in_weight BETWEEN 1 AND weight;  -- heavier, or lighter than nothing, others would hold beside it
  done := FOUND::int;
  IF FOUND THEN
    IF last > upto THEN
      PERFORM {serve}(in_name, at, low, upto, room);
    END IF;
    PERFORM {changed}();
  END IF;
END $$;

-- For older clients: one row a name that is held or waited for, of those behind `after` and in their order; with
-- in_idle, every name. A call lists as many as it comes to in a twentieth of a second, one at least and `at_most` at
-- most: no row means that there are no more. The search goes by the claims, of which there are few, and not by the
-- names.
CREATE OR REPLACE FUNCTION {page}(in_idle boolean, after text, at_most bigint)
RETURNS TABLE (of_name text, last bigint, room bigint, holders bigint, waiters bigint, of_weight bigint,
  held_for bigint, of_metadata text, holder_token bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint := {now}();
  upto bigint;
  listed bigint := 0;
BEGIN
  of_name := after;
  WHILE listed < at_most AND (listed = 0 OR {now}() - at < 50000) LOOP
    IF in_idle THEN
      SELECT l.name INTO of_name FROM {locks} l WHERE l.name > of_name ORDER BY l.name LIMIT 1;
    ELSE
      SELECT c.name INTO of_name FROM {claims} c WHERE c.name > of_name AND c.expires > at ORDER BY c.name LIMIT 1;
    END IF;
    EXIT WHEN of_name IS NULL;
    SELECT l.token, l.capacity, l.granted INTO last, room, upto FROM {locks} l WHERE l.name = of_name;
    CONTINUE WHEN NOT FOUND;
    SELECT count(*) FILTER (WHERE c.token <= upto), count(*) FILTER (WHERE c.token > upto),
           min(c.token) FILTER (WHERE c.token <= upto)
      INTO holders, waiters, holder_token
      FROM {claims} c
     WHERE c.name = of_name AND c.expires > at AND NOT (c.ttl >= {FOREVER} AND {gone}(c.client, c.login));
    CONTINUE WHEN NOT in_idle AND holders + waiters = 0;
    SELECT h.weight, at - h.since, h.metadata INTO of_weight, held_for, of_metadata
      FROM {claims} h WHERE h.name = of_name AND h.token = holder_token;
    listed := listed + 1;
    RETURN NEXT;
  END LOOP;
END $$;

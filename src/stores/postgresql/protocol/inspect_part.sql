-- A part of a name's claims, in the order of the queue: those behind in_after and up to in_upto, and those that hold. So
-- many at most, living or not, so that no queue keeps a session for long; the next call reads on. Of longer texts than
-- 15 kB the beginning. A claim that ends with its session has no time of its own, and is shown with the one that its
-- client has for it. A name without a token was never used: {acquire_all} has made its row, and was refused before it.
--
-- Out: one row without a place if there is no claim
CREATE OR REPLACE FUNCTION {inspect_part}(in_name text, in_after bigint, in_upto bigint, at_most bigint)
RETURNS TABLE (last bigint, upto bigint, room bigint, place bigint, of_owner bytea, of_weight bigint,
  age bigint, expires_in bigint, of_metadata text, living boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint := {now}();
BEGIN
  RETURN QUERY
  SELECT l.token, l.granted, l.capacity, c.token, c.owner, c.weight, at - c.since,
         CASE WHEN c.ttl >= {FOREVER} THEN c.ttl - {FOREVER} ELSE c.expires - at END,
         CASE WHEN octet_length(c.metadata) > 15000 THEN left(c.metadata, 3750) ELSE c.metadata END,
         c.expires > at AND NOT (c.ttl >= {FOREVER} AND {gone}(c.client, c.login))
    FROM {locks} l
    LEFT JOIN LATERAL (SELECT i.* FROM {claims} i
                        WHERE i.name = in_name AND i.token > in_after AND i.token <= greatest(l.granted, in_upto)
                        ORDER BY i.token LIMIT at_most) c ON true
   WHERE l.name = in_name AND (l.token > 0 OR c.token > 0)
   ORDER BY c.token;
END $$;

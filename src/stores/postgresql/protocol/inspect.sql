-- For older clients: a name with all its living claims, in the order of the queue; one row without a claim if it is
-- idle. A claim that ends with its session has no time of its own, and is shown with the one that its client has for
-- it.
CREATE OR REPLACE FUNCTION {inspect}(in_name text)
RETURNS TABLE (last bigint, upto bigint, room bigint, place bigint, of_owner bytea, of_weight bigint,
  age bigint, expires_in bigint, of_metadata text)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.token, l.granted, l.capacity, c.token, c.owner, c.weight, t.at - c.since,
         CASE WHEN c.ttl >= {FOREVER} THEN c.ttl - {FOREVER} ELSE c.expires - t.at END, c.metadata
    FROM (SELECT {now}() AS at OFFSET 0) t
    CROSS JOIN {locks} l
    LEFT JOIN {claims} c ON c.name = l.name AND c.expires > t.at AND NOT (c.ttl >= {FOREVER} AND {gone}(c.client, c.login))
   WHERE l.name = in_name
   ORDER BY c.token
$$;

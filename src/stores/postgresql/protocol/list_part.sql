-- Counts the claims behind the claim `counted` of the name `after`, in the order of names and tokens: so many claims at
-- most, living or not, of so many names, so that no queue keeps a session for long; the next call counts on. No row means
-- that there are no more. With in_idle, the names behind `after` instead that were ever used. Each session is asked about
-- once: that costs as much as a hundred claims.
--
-- Out: of each name, what was counted: who holds, all, the first that holds, and the last token
CREATE OR REPLACE FUNCTION {list_part}(in_idle boolean, after text, counted bigint, names_at_most bigint, at_most bigint)
RETURNS TABLE (of_name text, last bigint, room bigint, holders bigint, living bigint, of_weight bigint,
  held_for bigint, of_metadata text, holder_token bigint, upto bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint := {now}();
BEGIN
  IF in_idle THEN
    RETURN QUERY
    SELECT l.name, l.token, l.capacity, 0::bigint, 0::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::bigint, 0::bigint
      FROM {locks} l WHERE l.name > after AND l.token > 0 ORDER BY l.name LIMIT names_at_most;
    RETURN;
  END IF;
  RETURN QUERY
  WITH part AS MATERIALIZED (
    SELECT c.name, c.token, c.client, c.login, c.ttl, c.expires
      FROM {claims} c WHERE (c.name, c.token) > (after, counted) ORDER BY c.name, c.token LIMIT at_most),
  ended AS MATERIALIZED (
    SELECT s.client, s.login
      FROM (SELECT DISTINCT p.client, p.login FROM part p WHERE p.ttl >= {FOREVER} OFFSET 0) s
     WHERE {gone}(s.client, s.login))
  SELECT g.name, l.token, l.capacity, h.holding, g.living, f.weight, at - f.since,
         CASE WHEN octet_length(f.metadata) > 15000 THEN left(f.metadata, 3750) ELSE f.metadata END, f.token, g.upto
    FROM (SELECT p.name, min(p.token) AS low, max(p.token) AS upto,
                 count(*) FILTER (WHERE p.expires > at AND e.client IS NULL) AS living
            FROM part p
            LEFT JOIN ended e ON p.ttl >= {FOREVER} AND e.client = p.client AND e.login = p.login
           GROUP BY p.name ORDER BY p.name LIMIT names_at_most) g
    -- Each in a loop over the names, whatever the server thinks of how many there are.
    LEFT JOIN LATERAL (SELECT i.* FROM {locks} i WHERE i.name = g.name OFFSET 0) l ON true
    LEFT JOIN LATERAL (SELECT count(*) AS holding, min(c.token) AS first
                         FROM {claims} c
                         LEFT JOIN ended e ON c.ttl >= {FOREVER} AND e.client = c.client AND e.login = c.login
                        WHERE c.name = g.name AND c.token BETWEEN g.low AND least(l.granted, g.upto) AND c.expires > at
                          AND e.client IS NULL) h ON true
    LEFT JOIN LATERAL (SELECT i.* FROM {claims} i WHERE i.name = g.name AND i.token = h.first OFFSET 0) f ON true
   ORDER BY g.name;
END $$;

-- For older clients: one row a name that is held or waited for; with idle, every name.
CREATE OR REPLACE FUNCTION {list}(in_idle boolean)
RETURNS TABLE (of_name text, last bigint, room bigint, holders bigint, waiters bigint, of_weight bigint,
  held_for bigint, of_metadata text, holder_token bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.name, l.token, l.capacity,
         count(c.token) FILTER (WHERE c.token <= l.granted),
         count(c.token) FILTER (WHERE c.token > l.granted),
         f.weight, t.at - f.since, f.metadata, f.token
    FROM (SELECT {now}() AS at OFFSET 0) t
    CROSS JOIN {locks} l
    LEFT JOIN {claims} c ON c.name = l.name AND c.expires > t.at AND NOT (c.ttl >= {FOREVER} AND {gone}(c.client, c.login))
    LEFT JOIN LATERAL (SELECT h.weight, h.since, h.metadata, h.token FROM {claims} h
                        WHERE h.name = l.name AND h.token <= l.granted AND h.expires > t.at
                          AND NOT (h.ttl >= {FOREVER} AND {gone}(h.client, h.login))
                        ORDER BY h.token LIMIT 1) f ON true
   GROUP BY l.name, l.token, l.capacity, t.at, f.weight, f.since, f.metadata, f.token
  HAVING in_idle OR count(c.token) > 0
   ORDER BY l.name
$$;

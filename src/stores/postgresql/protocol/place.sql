-- Where a claim stands, at a time, in a queue whose row is locked.
CREATE OR REPLACE FUNCTION {place}(in_name text, own bigint, low bigint, upto bigint, at bigint,
  OUT place bigint, OUT is_granted bigint, OUT is_head bigint, OUT holder_left bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  place := own;
  is_granted := (upto >= own)::int;
  is_head := (NOT EXISTS (SELECT FROM {claims} w
                           WHERE w.name = in_name AND w.token > upto AND w.token < own AND w.expires > at))::int;
  holder_left := (SELECT min(h.expires) - at FROM {claims} h
                   WHERE h.name = in_name AND h.token BETWEEN low AND upto AND h.expires > at AND h.ttl < {FOREVER});
END $$;

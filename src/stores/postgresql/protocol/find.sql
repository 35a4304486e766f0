-- The place of an owner's living claim whose token is not known: the reply that told it was lost. The first, if
-- there are two: a request that had been given up for lost may have been carried out late, beside its successor.
CREATE OR REPLACE FUNCTION {find}(in_name text, in_owner bytea)
RETURNS TABLE (place bigint, is_granted bigint, is_head bigint, holder_left bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint;
  own bigint;
  upto bigint;
  low bigint;
BEGIN
  SELECT l.granted, l.oldest INTO upto, low FROM {locks} l WHERE l.name = in_name FOR NO KEY UPDATE;
  at := {now}();
  SELECT c.token INTO own FROM {claims} c
   WHERE c.name = in_name AND c.token >= coalesce(low, 0) AND c.owner = in_owner AND c.expires > at
     AND (c.ttl < {FOREVER} OR c.client = {OWN})
   ORDER BY c.token LIMIT 1;
  IF own IS NOT NULL THEN
    RETURN QUERY SELECT * FROM {place}(in_name, own, low, upto, at);
  END IF;
END $$;

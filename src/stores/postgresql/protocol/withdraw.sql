-- As release, for a claim whose token is not known.
CREATE OR REPLACE FUNCTION {withdraw}(in_name text, in_owner bytea, OUT done bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint;
  low bigint;
BEGIN
  SELECT l.oldest INTO low FROM {locks} l WHERE l.name = in_name FOR NO KEY UPDATE;
  SELECT c.token INTO own FROM {claims} c
   WHERE c.name = in_name AND c.token >= coalesce(low, 0) AND c.owner = in_owner AND c.expires > {now}()
     AND (c.ttl < {FOREVER} OR c.client = {OWN})
   ORDER BY c.token LIMIT 1;
  done := CASE WHEN own IS NULL THEN 0 ELSE {release}(in_name, in_owner, own) END;
END $$;

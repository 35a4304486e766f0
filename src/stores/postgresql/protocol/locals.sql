LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint;
  last bigint;
  upto bigint;
  low bigint;
  room bigint;

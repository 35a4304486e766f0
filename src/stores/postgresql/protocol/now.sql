-- The server's clock, in microseconds since the epoch: not that of the transaction's begin, which may be long
-- ago by the time that a row's lock is had; and not of any session's time zone. Without a search_path of its own, with
-- which the server would not put it in place: so everything in it is named in full.
CREATE OR REPLACE FUNCTION {now}() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
          OPERATOR(pg_catalog.*) 1000000::pg_catalog.float8)::pg_catalog.int8
$$;

-- The server's clock, in microseconds since the epoch: not that of the transaction's begin, which may be long
-- ago by the time that a row's lock is had; and not of any session's time zone.
CREATE OR REPLACE FUNCTION {now}() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- As older clients call it: like extend, but it waits for every row, and answers 0 and 1 alone.
CREATE OR REPLACE FUNCTION {renew}(packed bytea, OUT kept text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
--@include unpack.sql
    SELECT l.granted INTO upto FROM {locks} l WHERE l.name = of_name FOR NO KEY UPDATE;
--@include prolong.sql

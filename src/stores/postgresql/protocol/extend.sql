-- One more ttl for each of many holds, packed one after another in the order of their names: the name's length in
-- 2 bytes, the name, the owner, token and ttl in 8 bytes each. A hold that has expired stays so, even if
-- nobody took its place; and what waits does not hold. One that ends with this session is there or not, no more. A name
-- whose row somebody else has locked is passed over, so that it keeps none of the others from their ttl; where it is
-- the only one, it is waited for, a tenth of a second at most.
--
-- Out: a text, one for each hold: 0 lost, 1 kept, 2 not looked at
CREATE OR REPLACE FUNCTION {extend}(packed bytea, OUT kept text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
--@include unpack.sql
    SELECT l.granted INTO upto FROM {locks} l WHERE l.name = of_name FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM {locks} l WHERE l.name = of_name) THEN
      IF kept <> '' OR next <= length(packed) THEN
        kept := kept || '2';
        CONTINUE;
      END IF;
      BEGIN
        SELECT l.granted INTO upto FROM {locks} l WHERE l.name = of_name FOR NO KEY UPDATE;
      EXCEPTION WHEN lock_not_available THEN
        kept := '2';
        RETURN;
      END;
    END IF;
--@include prolong.sql

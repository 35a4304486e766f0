-- One more ttl for each of many holds, packed one after another in the order of their names: the name's length in
-- 2 bytes, the name, the owner, token and ttl in 8 bytes each. A hold that has expired stays so, even if
-- nobody took its place; and what waits does not hold. One that ends with this session is there or not, no more. A name
-- whose row somebody else has locked is passed over, so that it keeps none of the others from their ttl; where it is
-- the only one, it is waited for, a tenth of a second at most.
--
-- Out: a text, one for each hold: 0 lost, 1 kept, 2 not looked at
CREATE OR REPLACE FUNCTION {renew}(packed bytea, OUT kept text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  next int := 1;
  size int;
  of_name text;
  of_owner bytea;
  own bigint;
  its_ttl bigint;
  at bigint;
  upto bigint;
BEGIN
  kept := '';
  WHILE next <= length(packed) LOOP
    size := get_byte(packed, next - 1) * 256 + get_byte(packed, next);
    of_name := convert_from(substring(packed FROM next + 2 FOR size), 'UTF8');
    next := next + 2 + size;
    of_owner := substring(packed FROM next FOR 16);
    own := ('x' || encode(substring(packed FROM next + 16 FOR 8), 'hex'))::bit(64)::bigint;
    its_ttl := ('x' || encode(substring(packed FROM next + 24 FOR 8), 'hex'))::bit(64)::bigint;
    next := next + 32;
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
    at := {now}();
    IF its_ttl >= {FOREVER} THEN
      PERFORM FROM {claims} c
        WHERE c.name = of_name AND c.token = own AND c.owner = of_owner AND c.client = {OWN} AND c.expires > at
          AND c.token <= upto;
    ELSE
      UPDATE {claims} SET expires = at + its_ttl
       WHERE name = of_name AND token = own AND owner = of_owner AND expires > at AND token <= upto;
    END IF;
    kept := kept || CASE WHEN FOUND THEN '1' ELSE '0' END;
  END LOOP;
END $$;

-- As older clients call it: like extend, but it waits for every row, and answers 0 and 1 alone.
CREATE OR REPLACE FUNCTION {renew}(packed bytea, OUT kept text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    SELECT l.granted INTO upto FROM {locks} l WHERE l.name = of_name FOR NO KEY UPDATE;
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

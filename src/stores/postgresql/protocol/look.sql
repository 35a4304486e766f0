-- Keep a claim that waits for another ttl, and say where it stands. Whoever looks also serves the queue, where
-- a holder or a waiter before it has died. A claim that ends with its session is kept by that alone.
CREATE OR REPLACE FUNCTION {look}(in_name text, in_owner bytea, in_token bigint, in_ttl bigint)
RETURNS TABLE (place bigint, is_granted bigint, is_head bigint, holder_left bigint)
--@include locals.sql
BEGIN
--@include lock.sql
  at := {now}();
  IF in_ttl >= {FOREVER} THEN
    PERFORM FROM {claims} c
      WHERE c.name = in_name AND c.token = in_token AND c.owner = in_owner AND c.client = {OWN} AND c.expires > at;
  ELSE
    UPDATE {claims} SET expires = at + in_ttl
     WHERE name = in_name AND token = in_token AND owner = in_owner AND expires > at;
  END IF;
  IF FOUND THEN
    IF last > upto THEN
      PERFORM {bury}(in_name, at, low, upto);
    END IF;
    RETURN QUERY SELECT * FROM {place}(in_name, in_token, low, upto, at);
    IF last > upto THEN
      PERFORM {serve}(in_name, at, low, upto, room);
    END IF;
  END IF;
END $$;

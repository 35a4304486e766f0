-- Remove the claims of sessions that are over, of a name whose row is locked: those that hold, and the first of those
-- that wait, up to one that lives. Whether there were any.
CREATE OR REPLACE FUNCTION {bury}(in_name text, at bigint, low bigint, upto bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  buried boolean := false;
  c record;
BEGIN
  FOR c IN SELECT h.token, h.client, h.login FROM {claims} h
            WHERE h.name = in_name AND h.token BETWEEN low AND upto AND h.expires > at AND h.ttl >= {FOREVER}
  LOOP
    CONTINUE WHEN NOT {gone}(c.client, c.login);
    DELETE FROM {claims} WHERE name = in_name AND token = c.token;
    buried := true;
  END LOOP;
  FOR c IN SELECT w.token, w.client, w.login, w.ttl FROM {claims} w
            WHERE w.name = in_name AND w.token > upto AND w.expires > at
            ORDER BY w.token
  LOOP
    EXIT WHEN c.ttl < {FOREVER} OR NOT {gone}(c.client, c.login);
    DELETE FROM {claims} WHERE name = in_name AND token = c.token;
    buried := true;
  END LOOP;
  RETURN buried;
END $$;

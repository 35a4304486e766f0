-- End the holds of a name with a token from in_token to in_last, whoever has them, and tell whose they were; then hand
-- it on.
CREATE OR REPLACE FUNCTION {evict}(in_name text, in_token bigint DEFAULT 0,
  in_last bigint DEFAULT 9223372036854775807, OUT holders bigint)
--@include locals.sql
  c record;
BEGIN
  holders := 0;
--@include lock.sql
  IF NOT FOUND THEN
    RETURN;
  END IF;
  at := {now}();
  FOR c IN DELETE FROM {claims} h WHERE h.name = in_name AND h.token BETWEEN greatest(low, in_token) AND least(upto, in_last)
           RETURNING h.token, h.owner, h.client, h.login, h.ttl, h.expires
  LOOP
    IF c.expires > at AND NOT (c.ttl >= {FOREVER} AND {gone}(c.client, c.login)) THEN
      holders := holders + 1;
      PERFORM pg_notify('holdfast_' || encode(c.client, 'hex'), encode(c.owner, 'hex') || ' -' || c.token);
    END IF;
  END LOOP;
  PERFORM {serve}(in_name, at, low, upto, room);
  PERFORM {changed}(in_name);
END $$;

-- Hand a name on, whose row is locked: grant it to as many of the first waiters as now fit together, and tell
-- exactly those. Dead claims are passed over, and deleted once they have been; those of sessions that are over,
-- at once. The search ends at the first who does not fit: the cost does not grow with the queue. Behind a claim that
-- ends with its session that one is told that it is the first, since it has to look whether that is over.
CREATE OR REPLACE FUNCTION {serve}(in_name text, at bigint, low bigint, upto bigint, room bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held bigint;
  last bigint := upto;
  lasting boolean := false;
  c record;
BEGIN
  PERFORM {bury}(in_name, at, low, upto);
  SELECT coalesce(sum(h.weight), 0) INTO held
    FROM {claims} h WHERE h.name = in_name AND h.token BETWEEN low AND upto AND h.expires > at;
  FOR c IN SELECT w.token, w.weight, w.owner, w.client, w.login, w.ttl
             FROM {claims} w
            WHERE w.name = in_name AND w.token > upto AND w.expires > at
            ORDER BY w.token
  LOOP
    IF c.ttl >= {FOREVER} AND {gone}(c.client, c.login) THEN
      DELETE FROM {claims} WHERE name = in_name AND token = c.token;
      CONTINUE;
    END IF;
    IF c.weight > room - held THEN
      IF lasting THEN
        PERFORM pg_notify('holdfast_' || encode(c.client, 'hex'), encode(c.owner, 'hex') || ' 0');
      END IF;
      EXIT;
    END IF;
    held := held + c.weight;
    last := c.token;
    lasting := lasting OR c.ttl >= {FOREVER};
    UPDATE {claims} SET since = at WHERE name = in_name AND token = c.token;
    PERFORM pg_notify('holdfast_' || encode(c.client, 'hex'), encode(c.owner, 'hex') || ' ' || c.token);
  END LOOP;
  IF last > upto THEN
    UPDATE {locks} SET granted = last WHERE name = in_name;
    DELETE FROM {claims} WHERE name = in_name AND token BETWEEN low AND last AND expires <= at;
  END IF;
END $$;

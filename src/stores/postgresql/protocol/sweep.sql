-- Forget what nobody has used for long: walk over a bounded number of names, for a twentieth of a second at most, and go
-- on there with the next call, whoever makes it; not again within `every` once the walk has come to its end. A name's
-- last token is a time at which it was used, and the next one is drawn no lower than the clock: forgetting keeps
-- tokens rising. One client sweeps at a time; a name in use is left for the next time. Of a queue of claims that end with
-- their sessions the first 64 are asked about: the others are when they get there.
--
-- Out: whether the walk has not come to its end
CREATE OR REPLACE FUNCTION {sweep}(keep_idle bigint, every bigint, at_most bigint, OUT more bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at bigint := {now}();
  upto text;
  done bigint := 0;
  n record;
BEGIN
  -- Whoever may call this may write no table: by a time to come, tokens would be forgotten that the clock has not reached.
  IF NOT coalesce(keep_idle >= 0 AND every >= 0 AND at_most BETWEEN 1 AND 4096, false) THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a sweep has times from 0, and a limit from 1 to 4096';
  END IF;
  more := 0;
  SELECT s.walked INTO upto
    FROM {sweeps} s WHERE s.id = 1 AND s.swept NOT BETWEEN at - every AND at FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR n IN SELECT l.name, l.token FROM {locks} l WHERE l.name > upto ORDER BY l.name LIMIT at_most LOOP
    upto := n.name;
    done := done + 1;
    IF (n.token < at - keep_idle
        AND NOT EXISTS (SELECT FROM {claims} c WHERE c.name = n.name AND c.expires > at))
       OR EXISTS (SELECT FROM {claims} c WHERE c.name = n.name AND c.expires <= at - every)
       OR EXISTS (SELECT FROM (SELECT c.client, c.login, c.ttl FROM {claims} c WHERE c.name = n.name
                                ORDER BY c.token LIMIT 64) f
                   WHERE f.ttl >= {FOREVER} AND {gone}(f.client, f.login))
    THEN
      PERFORM FROM {locks} l WHERE l.name = n.name FOR NO KEY UPDATE SKIP LOCKED;
      IF FOUND THEN
        DELETE FROM {claims} c WHERE c.name = n.name AND c.expires <= at;
        DELETE FROM {claims} c
         WHERE c.name = n.name
           AND c.token IN (SELECT f.token FROM (SELECT i.token, i.client, i.login, i.ttl FROM {claims} i
                                                 WHERE i.name = n.name ORDER BY i.token LIMIT 64) f
                            WHERE f.ttl >= {FOREVER} AND {gone}(f.client, f.login));
        DELETE FROM {locks} l
         WHERE l.name = n.name AND l.token < at - keep_idle
           AND NOT EXISTS (SELECT FROM {claims} c WHERE c.name = n.name);
      END IF;
    END IF;
    EXIT WHEN {now}() - at > 50000;
  END LOOP;
  IF done = 0 THEN
    UPDATE {sweeps} SET swept = at, walked = '' WHERE id = 1;
  ELSE
    more := 1;
    UPDATE {sweeps} SET walked = upto WHERE id = 1;
  END IF;
END $$;

-- Forget what nobody has used for long, a bounded number of names at a time, and not again within `every` once
-- nothing is left to forget. A name's last token is a time at which it was used, and the next one is drawn no
-- lower than the clock: forgetting keeps tokens rising. One client sweeps at a time; a name in use is left for the
-- next time.
--
-- Out: whether there is more
CREATE OR REPLACE FUNCTION {sweep}(keep_idle bigint, every bigint, at_most bigint, OUT more bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  at bigint := {now}();
  done bigint := 0;
  n record;
BEGIN
  more := 0;
  PERFORM FROM {sweeps} s WHERE s.swept NOT BETWEEN at - every AND at FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR n IN SELECT l.name FROM {locks} l
            WHERE (l.token < at - keep_idle
                   AND NOT EXISTS (SELECT FROM {claims} c WHERE c.name = l.name AND c.expires > at))
               OR EXISTS (SELECT FROM {claims} c
                           WHERE c.name = l.name
                             AND (c.expires <= at - every OR (c.ttl >= {FOREVER} AND {gone}(c.client))))
            LIMIT at_most
  LOOP
    done := done + 1;
    PERFORM FROM {locks} l WHERE l.name = n.name FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM {claims} c WHERE c.name = n.name AND (c.expires <= at OR (c.ttl >= {FOREVER} AND {gone}(c.client)));
    DELETE FROM {locks} l
     WHERE l.name = n.name AND l.token < at - keep_idle
       AND NOT EXISTS (SELECT FROM {claims} c WHERE c.name = n.name);
  END LOOP;
  IF done < at_most THEN
    UPDATE {sweeps} SET swept = at;
  ELSE
    more := 1;
  END IF;
END $$;

-- End claims, in the order of their names. Lists are the texts of arrays. Where nobody waits for any of the names, as is
-- usual, one statement ends all, and the commit is not waited for to be on the disk.
--
-- Out: a text, for each claim 1, or 0: there was none
CREATE OR REPLACE FUNCTION {release_all}(in_names text, in_owners text, in_tokens text, OUT done text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  names text[] := in_names;
  owners bytea[] := in_owners;
  tokens bigint[] := in_tokens;
  commits text := current_setting('synchronous_commit');
  waited boolean;
  ended bigint[];
  at bigint;
BEGIN
  done := '';
  SELECT bool_or(r.token > r.granted) INTO waited
    FROM (SELECT l.token, l.granted FROM {locks} l WHERE l.name = ANY (names) ORDER BY l.name FOR NO KEY UPDATE) r;
  at := {now}();
  IF waited THEN
    FOR i IN 1 .. cardinality(names) LOOP
      done := concat(done, {release}(names[i], owners[i], tokens[i]));
    END LOOP;
    PERFORM set_config('synchronous_commit', commits, true);
    RETURN;
  END IF;
  WITH gone AS (
    DELETE FROM {claims} c
     USING unnest(names, owners, tokens) WITH ORDINALITY AS h (name, owner, token, n)
     WHERE c.name = h.name AND c.token = h.token AND c.owner = h.owner AND c.expires > at
    RETURNING h.n
  )
  SELECT array_agg(g.n) INTO ended FROM gone g;
  FOR i IN 1 .. cardinality(names) LOOP
    done := concat(done, coalesce(i = ANY (ended), false)::int);
  END LOOP;
  IF ended IS NOT NULL THEN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF (SELECT s.watched > 0 OR 0 < ANY (s.watched_names) FROM {sweeps} s WHERE s.id = 1) THEN
      PERFORM {changed}(names[n]) FROM unnest(ended) AS n;
    END IF;
  END IF;
END $$;
